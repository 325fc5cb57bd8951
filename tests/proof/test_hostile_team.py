"""A team of one's own: whatever is put into a field of a page, it comes out as a text."""

import itertools
from pathlib import Path
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.utils import timezone
from lxml.html import HtmlElement
from pytest_django import Settings

from annotation.crowd.inhouse.members import invite
from annotation.crowd.inhouse.models import Assignment
from annotation.models import Hit, Instructions, ItemReport, Triplet
from annotation.pipeline.adjudicate import What
from core.text.clean import clean_text
from tests.proof.conftest import Read
from tests.proof.harm import harm, parse
from tests.proof.hostile_forms import (
    CODE,
    PILES,
    WORK,
    Form,
    addresses_of,
    all_yes,
    forms_of,
    pages_of,
    qualification_path,
)
from tests.proof.test_hostile_pages import read_admin
from tests.support.examples import cases
from tests.support.pages import Response
from tests.worlds.hostile import HALF_CHARACTERS, LONG, MARK
from tests.worlds.hostile_campaign import QUALIFICATION, TEXTS
from tests.worlds.hostile_work import EXPERT, SECOND, hostile_team, judge, label_all
from tests.worlds.team import Team

pytestmark = pytest.mark.django_db

TOGETHER = "\n\n".join(reversed(TEXTS))
ALONE = (TOGETHER, *LONG.values(), HALF_CHARACTERS.encode(errors="replace").decode(), "\x00")
Clients = dict[str, Client]


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, settings: Settings) -> None:
    settings.INDEX_DIR = tmp_path / "index"
    settings.CONTACT = TEXTS[0]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return hostile_team(tmp_path, "http://testserver")


@pytest.fixture
def judged(team: Team) -> Team:
    """Triplets of both outcomes, all with reports and a second expert's label."""
    judge(team)
    label_all(team)
    outcomes = set(team.campaign.triplets.values_list("status", flat=True))
    assert outcomes >= {Triplet.Status.LABELLED, Triplet.Status.UNRESOLVED}
    return team


@pytest.fixture
def clients(team: Team) -> Clients:
    return clients_of(team)


def clients_of(team: Team) -> Clients:
    """One for each user that there is, and one for who is not signed in."""
    names = ("owner", EXPERT, *team.members)
    found = {name: Client() for name in ("", *names)}
    for user in User.objects.filter(username__in=names):
        found[user.username].force_login(user)
    return found


def check(client: Client, address: str, form: dict[str, str] | None = None) -> Response:
    """What the page shows has become nothing more, nor what it leads on to."""
    response: Response = client.get(address) if form is None else client.post(address, form)
    for name, value in response.headers.items():
        assert "\n" not in value, name
    if response["Content-Type"].startswith("text/html") and response.content:
        assert harm(response.content) == [], (address, form)
    if response.status_code == 303:
        assert check(client, response["Location"]).status_code == 200
    return response


@pytest.mark.slow
@pytest.mark.hypothesis
def test_no_field_of_a_page_becomes_more_than_text(judged: Team, clients: Clients) -> None:
    work = in_hand(judged, "ada")
    hit = Hit.objects.get(key=work.posted_hit.annotation)
    keys = list(hit.items.order_by("position").values_list("key", flat=True))
    code = invite(None, note="", days=1, uses=1000, now=timezone.now())
    other: list[tuple[Form, set[int]]] = []
    for number, form in enumerate(forms_of(judged.campaign, keys)):
        seen: set[int] = set()
        address = form.address.replace(CODE, code).replace(WORK, work.assignment_id)
        sent = [{name: text} for name in form.fields for text in ALONE]
        # Together, every form has had them all.
        alone = cases(TEXTS, TEXTS[number % 5 :: 5])
        sent += [dict.fromkeys(form.fields, text) for text in alone]
        for fields in sent:
            seen.add(check(clients[form.who], address, {**form.rest, **fields}).status_code)
        if seen != form.expects:
            other.append((form, seen))
    assert other == []
    assert MARK in Instructions.objects.filter(campaign=judged.campaign).latest("version").text
    for who, address in pages_of(judged.campaign):
        assert check(clients[who], address).status_code == 200, address


def in_hand(team: Team, name: str) -> Assignment:
    works = Assignment.objects.filter(member=team.members[name], status="accepted")
    return works.select_related("posted_hit").get()


@pytest.mark.hypothesis
def test_no_part_of_an_address_becomes_more_than_text(judged: Team, clients: Clients) -> None:
    """Of four texts an address is given at least one, and of four addresses a text is."""
    some = cases(range(4), range(1))
    for number, text in enumerate((*TEXTS, *ALONE)):
        for place, (who, address, status) in enumerate(addresses_of(judged.campaign, text)):
            if (number + place) % 4 in some:
                assert check(clients[who], address).status_code == status, address


@pytest.mark.parametrize("part", ["%00", "3A%00", "x", "0" * 33, "F" * 32])
def test_what_is_no_id_of_the_crowd_is_not_even_looked_for(
    team: Team, clients: Clients, part: str
) -> None:
    """PostgreSQL cannot be asked for some of them."""
    for suffix in ("", "/return", "/renew"):
        for client in (clients["ada"], clients[""]):
            assert client.get(f"/work/{part}{suffix}").status_code == 404
            assert client.post(f"/work/{part}{suffix}").status_code == 404
    kind = unquote(part)
    assert clients["ada"].post("/work/next", {"hit_type": kind}).status_code == 404
    assert not Assignment.objects.exists()


def test_what_members_submit_stays_text_on_every_page_of_the_owner(
    team: Team, clients: Clients, client: Client, read: Read
) -> None:
    judge(team, (*TEXTS, *ALONE))
    assert ItemReport.objects.count() > 2 * len(TEXTS)
    for who, address in pages_of(team.campaign):
        assert check(clients[who], address).status_code == 200
    client.force_login(User.objects.get(username="owner"))
    read_admin(read)


@pytest.mark.parametrize("what", PILES)
def test_each_text_stays_one_before_and_after_the_experts_decision(
    judged: Team, clients: Clients, what: What
) -> None:
    """The triplet's, and of the notes of both experts and the reports of annotators."""
    address = f"/campaigns/{judged.campaign}/adjudicate?what={what}"
    client, notes = clients[PILES[what]], itertools.cycle(TEXTS)
    shown: set[str] = set()
    while triplet := triplet_of(page := check(client, address)):
        assert words(page, "note") == []
        shown |= {text for name in ("query", "question", "answer") for text in words(page, name)}
        note = next(notes)
        form = {"triplet": str(triplet.pk), "label": "1", "note": note}
        decided = check(client, address, form)
        assert decided.status_code == 303
        after = check(client, decided["Location"])
        assert words(after, "note") == [clean_text(note)]
        label = triplet.expert_labels.get(expert=SECOND)
        assert label.note in clean_text(parse(after.content).text_content())
        said = list(ItemReport.objects.filter(item__triplet=triplet).values_list("text", flat=True))
        assert said
        assert sorted(clean_text(text) for text in said) == sorted(quotes(after))
    assert {clean_text(answer) for answer in answers_of(judged, what)} <= shown


def triplet_of(page: Response) -> Triplet | None:
    (pk,) = parse(page.content).xpath("//input[@name='triplet']/@value") or [None]
    return None if pk is None else Triplet.objects.get(pk=pk)


def words(page: Response, name: str) -> list[str]:
    elements: list[HtmlElement] = parse(page.content).xpath(f"//*[@class='{name}']")
    return [element.text_content() for element in elements]


def quotes(page: Response) -> list[str]:
    return [clean_text(element.text_content()) for element in parse(page.content).xpath("//q")]


def answers_of(team: Team, what: What) -> list[str]:
    triplets = team.campaign.triplets.all()
    if what == What.DISAGREEMENT:
        triplets = triplets.filter(positive_votes__gt=0, positive_votes__lt=F("votes"))
    elif what == What.REPORTED:
        # Work is handed out in random order: both may have left out the same HIT.
        triplets = triplets.filter(pk__in=ItemReport.objects.values("item__triplet"))
    else:
        status = "unresolved" if what == What.UNRESOLVED else "labelled"
        triplets = triplets.filter(status=status)
    return list(triplets.values_list("candidate__pair__answer", flat=True))


def test_each_text_of_the_qualification_test_is_shown_as_it_is(tmp_path: Path) -> None:
    team = hostile_team(tmp_path, "http://testserver", **QUALIFICATION)
    eve, address = clients_of(team)["eve"], qualification_path(team.campaign)
    begun = check(eve, address)
    ended = check(eve, address, all_yes(team.campaign))
    assert (begun.status_code, ended.status_code) == (200, 200)
    texts = {clean_text(text) for text in TEXTS}
    assert texts == set(words(begun, "answer")) == set(words(ended, "answer"))
    assert texts == set(words(ended, "why"))
    assert not team.campaign.qualification_results.get(
        worker__worker_id=team.members["eve"].worker_id
    ).passed
