"""Secured links: who makes up an ID gets one clear page, and no visit."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.test import Client
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from joserfc.util import urlsafe_b64encode
from pytest_django import Settings

from annotation.crowd.inhouse.models import PanelLink, Visit
from annotation.crowd.port import CrowdError, NotSent
from annotation.crowd.prolific import tokens
from annotation.crowd.prolific.emulator.state.tokens import signing_key
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.tokens import KEYS, Keys, check_sent, published_keys
from annotation.models import Campaign
from tests.annotation.crowd.prolific.conftest import SITE, OpenDesk
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.impostor import impostor
from tests.annotation.web.stage import text

STRANGER = RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, auto_kid=True)
Given = dict[str, str]


@pytest.fixture
def desk(open_desk: OpenDesk) -> Desk:
    return open_desk()


def address(desk: Desk, name: str = "ada") -> str:
    """Where Prolific sends the participant, without our own host."""
    person = desk.people.setdefault(name, desk.prolific.person())
    return person.open(person.take(desk.study_id)).removeprefix(SITE)


def given_in(address: str) -> Given:
    return dict(parse_qsl(urlsplit(address).query))


def changed(address: str, **parameters: str) -> str:
    return f"{urlsplit(address).path}?{urlencode({**given_in(address), **parameters})}"


def claims_of(given: Given) -> dict[str, Any]:
    return jwt.decode(given["prolific_token"], signing_key(), ["RS256"]).claims


def signed(claims: dict[str, Any], key: RSAKey | None = None, **header: str) -> str:
    key = key or signing_key()
    return jwt.encode({"alg": "RS256", "kid": key.kid or "", **header}, claims, key)


def test_whom_prolific_sends_reads_the_page_for_as_long_as_they_like(desk: Desk) -> None:
    place, browser = address(desk), Client()
    page = text(browser.get(place))
    assert "I agree. Start" in page
    assert "That is about $1.80 an hour, by an estimate of the time that it takes." in page
    PanelLink.objects.update(median_seconds=30)
    assert "about $18.00 an hour, by the time that it took others" in text(browser.get(place))
    desk.prolific.clock.forward(60)
    later = changed(place, prolific_token="of an hour ago")
    assert browser.post(later).status_code == 302
    visit = Visit.objects.get()
    assert visit.session_id == given_in(place)["SESSION_ID"]
    assert visit.member.participant.external_id == desk.people["ada"].id


def test_the_next_one_at_the_same_computer_comes_back_by_the_link_too(desk: Desk) -> None:
    browser = Client()
    assert browser.post(address(desk, "bob")).status_code == 302
    place = address(desk)
    assert browser.post(place).status_code == 302
    later = changed(place, prolific_token="of an hour ago")
    assert browser.get(later).status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize(
    "change",
    [
        {"prolific_token": ""},
        {"prolific_token": "a.b.c"},
        {"PROLIFIC_PID": "e" * 24},
        {"SESSION_ID": "e" * 24},
        {"STUDY_ID": "e" * 24},
    ],
)
def test_who_makes_up_an_id_reads_why_and_has_no_visit(
    desk: Desk, change: Given, method: str
) -> None:
    refused = getattr(Client(), method)(changed(address(desk), **change))
    assert refused.status_code == 403
    assert "Open the study from Prolific's own page." in text(refused)
    assert not Visit.objects.exists()


def test_one_s_own_token_opens_no_other_person_s_visit(desk: Desk) -> None:
    """Nor after one's own page was looked at."""
    ada, eve, browser = address(desk, "ada"), address(desk, "eve"), Client()
    assert browser.get(eve).status_code == 200
    names = {name: it for name, it in given_in(ada).items() if name != "prolific_token"}
    assert browser.post(changed(eve, **names)).status_code == 403
    assert not Visit.objects.exists()


def test_a_study_from_before_lets_in_whom_nobody_has_signed(
    open_desk: OpenDesk, settings: Settings
) -> None:
    settings.PROLIFIC_SECURE_LINKS = False
    desk = open_desk()
    place = address(desk)
    assert "prolific_token" not in place
    assert Client().post(place).status_code == 302
    assert Visit.objects.exists()


def test_before_the_study_is_at_prolific_nobody_can_have_been_sent(desk: Desk) -> None:
    place = address(desk)
    Study.objects.update(study_id="", is_secure=False)
    for link in (place, changed(place, prolific_token="")):
        assert Client().post(link).status_code == 403
    assert not Visit.objects.exists()


def test_a_token_of_before_they_named_the_workspace_holds(desk: Desk) -> None:
    given = given_in(address(desk))
    claims = {name: it for name, it in claims_of(given).items() if name != "workspace_id"}
    assert Study.objects.get().workspace_id == desk.prolific.workspace
    check_sent(Study.objects.get(), given | {"prolific_token": signed(claims)}, desk.now())


def test_where_prolific_makes_the_study_without_people_come_in_all_the_same(
    open_desk: OpenDesk,
) -> None:
    desk = open_desk(secured_links="ignored")
    assert not Study.objects.get().is_secure
    assert Client().post(address(desk)).status_code == 302


def test_a_workspace_that_lacks_them_reads_what_to_set(open_desk: OpenDesk) -> None:
    with pytest.raises(CrowdError, match="set QUORUM_PROLIFIC_SECURE_LINKS to 0") as error:
        open_desk(secured_links="refused")
    assert not error.value.permanent


def test_a_study_whose_answer_got_lost_is_still_a_secure_one(desk: Desk) -> None:
    Study.objects.update(study_id="", is_secure=False, making_since=None)
    desk.tend()
    assert Study.objects.get().is_secure


def test_the_audience_may_be_the_address_or_the_domain(open_desk: OpenDesk) -> None:
    desk = open_desk(audience_of_links="domain")
    place = address(desk)
    assert claims_of(given_in(place))["aud"] == "quorum.example.org"
    assert Client().get(place).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://prolific.example.org"},
        {"iss": None},
        {"aud": "https://elsewhere.example.org/panel"},
        {"aud": ["https://elsewhere.example.org", "x"]},
        {"sub": "e" * 24},
        {"exp": None},
        {"exp": "soon"},
        {"exp": 1},
        {"prolific": None},
        {"prolific": "PROLIFIC_PID"},
        {"prolific": {}},
        {"workspace_id": "e" * 24},
    ],
)
def test_each_claim_of_the_token_counts(desk: Desk, change: dict[str, Any]) -> None:
    given = given_in(address(desk))
    claims = {name: it for name, it in (claims_of(given) | change).items() if it is not None}
    with pytest.raises(NotSent):
        check_sent(Study.objects.get(), given | {"prolific_token": signed(claims)}, desk.now())


def test_a_token_lives_two_minutes_and_a_bit_for_clocks_that_differ(desk: Desk) -> None:
    given, study = given_in(address(desk)), Study.objects.get()
    made = claims_of(given)["iat"]
    for seconds, lives in ((-50, True), (0, True), (170, True), (190, False)):
        now = datetime.fromtimestamp(made + seconds, UTC)
        if lives:
            check_sent(study, given, now)
        else:
            with pytest.raises(NotSent, match="expired"):
                check_sent(study, given, now)


def test_only_prolific_s_own_key_signs_and_by_rs256_alone(desk: Desk) -> None:
    given, study = given_in(address(desk)), Study.objects.get()
    claims, kid = claims_of(given), signing_key().kid or ""
    public = OctKey.import_key(signing_key().as_pem(private=False).decode().encode().hex())
    forged = [
        signed(claims, STRANGER),
        signed(claims, STRANGER, kid=kid),
        jwt.encode({"alg": "HS256", "kid": kid}, claims, public, ["HS256"]),
        given["prolific_token"].rpartition(".")[0] + ".",
        jwt.encode({"alg": "HS256", "kid": kid}, claims, public, ["HS256"]).replace("H", "["),
        "W" + "1tb" * 3000,
    ]
    for token in forged:
        with pytest.raises(NotSent):
            check_sent(study, given | {"prolific_token": token}, desk.now())


@pytest.mark.parametrize("header", [{"crit": 5}, {"crit": None}, {"kid": ["x"]}, {"b64": 0}])
def test_a_header_of_any_kind_is_refused_and_breaks_nothing(
    desk: Desk, header: dict[str, object]
) -> None:
    place = address(desk)
    whole = {"alg": "RS256", "kid": signing_key().kid, **header}
    first = urlsafe_b64encode(json.dumps(whole).encode()).decode()
    rest = given_in(place)["prolific_token"].partition(".")[2]
    assert Client().get(changed(place, prolific_token=f"{first}.{rest}")).status_code == 403


def test_while_the_keys_cannot_be_read_nobody_is_refused_for_good(
    desk: Desk, settings: Settings
) -> None:
    place = address(desk)
    with impostor(503, b"down") as (url, asked):
        settings.PROLIFIC_ENDPOINT = url
        Campaign.objects.update(endpoint=url)
        refused = Client().get(place)
        assert refused.status_code == 503
        assert "Nothing is lost" in text(refused)
        assert set(asked) == {KEYS}
    assert not Visit.objects.exists()


class Published:
    """Keys that change, and how often they were asked for."""

    def __init__(self) -> None:
        self.keys: list[RSAKey] = [STRANGER]
        self.asked, self.now = 0, 0.0
        self.fault: Exception | None = None

    def __call__(self) -> Any:
        self.asked += 1
        if self.fault:
            raise self.fault
        return {"keys": [key.as_dict(private=False) for key in self.keys]}


def test_keys_are_asked_for_once_a_day_and_for_an_unknown_one_once_a_minute() -> None:
    there, new = Published(), signing_key()
    keys = Keys(there, clock=lambda: there.now)
    for _ in range(3):
        assert keys.named(STRANGER.kid).kid == STRANGER.kid
    there.keys = [new]
    for _ in range(3):
        with pytest.raises(NotSent):
            keys.named(new.kid)
    assert there.asked == 1
    there.now = 61
    assert keys.named(new.kid).kid == new.kid
    with pytest.raises(NotSent):  # it is Prolific's no longer
        keys.named(STRANGER.kid)
    assert there.asked == 2
    there.now += 86_401
    keys.named(new.kid)
    assert there.asked == 3


def test_who_comes_by_a_known_key_does_not_wait_for_a_slow_prolific(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the others wait for a moment alone."""
    monkeypatch.setattr(tokens, "PATIENCE", 0.01)
    there, asking, answer = Published(), Event(), Event()

    def slowly() -> Any:
        if there.asked:
            asking.set()
            assert answer.wait(10)
        return there()

    keys = Keys(slowly, clock=lambda: there.now)
    keys.named(STRANGER.kid)
    there.now, there.keys = 90_000, [STRANGER, signing_key()]
    with ThreadPoolExecutor() as others:
        slow = others.submit(keys.named, STRANGER.kid)
        try:
            assert asking.wait(10)
            assert keys.named(STRANGER.kid).kid == STRANGER.kid
            with pytest.raises(CrowdError, match="being read") as error:
                keys.named(signing_key().kid)
            assert not error.value.permanent
        finally:
            answer.set()
        assert slow.result(10).kid == STRANGER.kid
    assert keys.named(signing_key().kid).kid == signing_key().kid
    assert there.asked == 2


@pytest.mark.parametrize(
    "fault", [CrowdError("unreachable", permanent=False), KeyError("keys"), TypeError("no object")]
)
def test_a_key_that_is_known_holds_while_prolific_is_away(fault: Exception) -> None:
    there = Published()
    keys = Keys(there, clock=lambda: there.now)
    keys.named(STRANGER.kid)
    there.now, there.fault = 90_000, fault
    assert keys.named(STRANGER.kid).kid == STRANGER.kid
    there.now += 61
    with pytest.raises(CrowdError) as error:
        keys.named("another")
    assert not error.value.permanent
    there.fault = None
    there.now += 61
    with pytest.raises(NotSent):
        keys.named("another")


def test_the_emulator_publishes_its_key_to_anybody(desk: Desk) -> None:
    (key,) = desk.prolific.people.get(KEYS).json()["keys"]
    assert (key["alg"], key["use"], key["kid"]) == ("RS256", "sig", signing_key().kid)
    assert "d" not in key
    assert published_keys(desk.prolific.url).named(key["kid"]).kid == key["kid"]
