"""Who may do what: every address and every method of the site, for everybody there is."""

from collections.abc import Mapping
from http.cookies import SimpleCookie

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from annotation.crowd.inhouse.members import invite
from annotation.crowd.inhouse.models import Assignment, Invitation, Member
from annotation.models import Hit
from tests.annotation.web.stage import make_member, offer_hits, sheet, signed_in, staff
from tests.support.pages import Response

pytestmark = pytest.mark.django_db

PEOPLE = ("nobody", "outsider", "member", "former", "staff", "owner", "root")
IN = "/sign-in?next="
OUT = "/sign-in"
NEW_MEMBER = {"username": "zoe", "password1": "violet canyon 7", "password2": "violet canyon 7"}
INVITATION = {"note": "friends", "days": "7", "uses": "2"}

# What each of PEOPLE gets: a status, or where they are sent.
TABLE: Mapping[tuple[str, str], tuple[int | str, ...]] = {
    ("GET", "/sign-in"): (200,) * 7,
    ("POST", "/sign-in"): (200,) * 7,
    ("GET", "/sign-out"): (405,) * 7,
    ("POST", "/sign-out"): ("/",) * 7,
    ("GET", "/password"): (f"{IN}/password", *(200,) * 6),
    ("POST", "/password"): (f"{IN}/password", *(200,) * 6),
    ("GET", "/join/CODE"): (200, 200, "/work", "/work", 200, 200, 200),
    ("POST", "/join/CODE"): ("/work",) * 7,
    ("GET", "/team"): (f"{IN}/team", 403, 403, 403, 200, 200, 200),
    ("POST", "/team"): (OUT, 403, 403, 403, 403, 200, 200),
    ("GET", "/team/invitations/PK/revoke"): (405,) * 7,
    ("POST", "/team/invitations/PK/revoke"): (OUT, 403, 403, 403, 403, "/team", "/team"),
    ("GET", "/team/members/PK"): (405,) * 7,
    ("POST", "/team/members/PK"): (OUT, 403, 403, 403, 403, "/team", "/team"),
    ("GET", "/work"): (f"{IN}/work", 403, 200, 403, 403, 403, 403),
    ("POST", "/work"): (405,) * 7,
    ("GET", "/work/next"): (405,) * 7,
    ("POST", "/work/next"): (OUT, 403, "/work/HIT", 403, 403, 403, 403),
    ("GET", "/work/instructions/faq"): (f"{IN}/work/instructions/faq", 403, 200, *(403,) * 4),
    ("POST", "/work/instructions/faq"): (405,) * 7,
    ("GET", "/work/kept"): (f"{IN}/work/kept", 403, 200, *(403,) * 4),
    ("POST", "/work/kept"): (405,) * 7,
    ("GET", "/work/visits/1"): (f"{IN}/work/visits/1", 403, 404, *(403,) * 4),
    ("POST", "/work/visits/1"): (OUT, 403, 404, *(403,) * 4),
    ("GET", "/work/HIT"): (f"{IN}/work/HIT", 403, 200, 403, 403, 403, 403),
    ("POST", "/work/HIT"): (OUT, 403, "/work", 403, 403, 403, 403),
    ("GET", "/work/HIT/return"): (405,) * 7,
    ("POST", "/work/HIT/return"): (OUT, 403, "/work", 403, 403, 403, 403),
    ("GET", "/work/HIT/renew"): (405,) * 7,
    ("POST", "/work/HIT/renew"): (OUT, 403, 200, 403, 403, 403, 403),
}
# Each of these has tests of its own: the frame's page, health, the pages of other subjects.
ELSEWHERE = {"home", "health", "metrics", "hit", "qualification-test", "people", "instructions"}
ELSEWHERE |= {
    "panel",
    "visit",
    "study-event",
    "adjudicate",
    "mail-preferences",
    "confirm-address",
    "unsubscribe",
}
ELSEWHERE |= {"password-reset", "password-set", "campaign-way", "first-account"}
ELSEWHERE |= {"turk", "sandbox", "external-submit", "turk-hits", "turk-earnings", "turk-hit"}
ELSEWHERE |= {"turk-next", "turk-assignment", "html-question", "external-hit-script"}
ELSEWHERE |= {"turk-qualifications", "turk-qualification", "turk-test", "turk-site", "turk-group"}
FORMS: Mapping[str, Mapping[str, str]] = {
    "/join/CODE": NEW_MEMBER,
    "/team": INVITATION,
    "/team/members/PK": {"active": "0"},
}


@pytest.fixture(scope="module")
def code(module_db: None) -> str:
    """Of an invitation; ada, the member, has the HIT in hand."""
    offer_hits()
    signed_in(make_member("ada").user).post("/work/next")
    return invite(None, note="", days=7, uses=3, now=timezone.now())


@pytest.fixture
def invitation(code: str, db: None) -> str:
    return code


@pytest.fixture
def work(invitation: str) -> Assignment:
    return Assignment.objects.get()


@pytest.fixture
def ada(work: Assignment) -> Member:
    return work.member


def sessions(ada: Member) -> dict[str, SimpleCookie]:
    made = {
        "outsider": User.objects.create_user("otto"),
        "member": ada.user,
        "former": make_member("fred", active=False).user,
        "staff": staff("carla"),
        "owner": staff("dora", "add_invitation", "change_member"),
        "root": User.objects.create_superuser("root"),
    }
    return {"nobody": SimpleCookie(), **{who: signed_in(one).cookies for who, one in made.items()}}


def answer(client: Client, method: str, path: str, work: Assignment, code: str) -> Response:
    address = path.replace("CODE", code).replace("HIT", work.assignment_id)
    if "PK" in path:
        pk = Invitation.objects.get().pk if "invitations" in path else work.member_id
        address = address.replace("PK", str(pk))
    form = FORMS.get(path, {})
    if path == "/work/HIT":
        form = sheet(Hit.objects.get())
    return client.post(address, form) if method == "POST" else client.get(address)


def test_everybody_gets_what_the_table_says(ada: Member, work: Assignment, invitation: str) -> None:
    """A request is taken back: each finds the site as it was."""
    client, people = Client(), sessions(ada)
    for (method, path), row in TABLE.items():
        for who, expected in zip(PEOPLE, row, strict=True):
            client.cookies = SimpleCookie(people[who].output(header=""))
            with transaction.atomic():
                response = answer(client, method, path, work, invitation)
                transaction.set_rollback(True)
            case = f"{method} {path} {who}"
            if isinstance(expected, str):
                assert response.status_code in {302, 303}, case
                assert response["Location"] == expected.replace("HIT", work.assignment_id), case
            else:
                assert response.status_code == expected, case
            if expected == 403:
                assert b"<h1" in response.content, case


@pytest.mark.parametrize("path", [path for method, path in TABLE if method == "POST"])
def test_a_form_of_another_site_does_nothing(
    ada: Member, work: Assignment, invitation: str, path: str
) -> None:
    root = User.objects.create_superuser("root")
    for user in (ada.user, root):
        client = Client(enforce_csrf_checks=True)
        client.force_login(user)
        response = answer(client, "POST", path, work, invitation)
        assert response.status_code in {403, 405}
        assert response.status_code == 405 or b"Nothing was saved" in response.content
    work.refresh_from_db()
    assert work.status == "accepted"
    assert Invitation.objects.get().uses == 0
    assert Member.objects.get().active


def test_who_runs_campaigns_hears_how_to_see_the_tasks() -> None:
    carla = signed_in(staff("carla")).get("/work").content.decode()
    assert "The milestones of a campaign preview its tasks." in carla
    otto = signed_in(User.objects.create_user("otto")).get("/work").content.decode()
    assert "ask the people who run it for an invitation link." in otto
    assert "milestones" not in otto


def test_an_address_that_only_takes_forms_says_so_to_who_opens_it(client: Client) -> None:
    response = client.get("/work/next")
    assert response.status_code == 405
    assert response["Allow"] == "POST"
    assert "This is no page" in response.content.decode()
    script = client.get("/work/next", headers={"Accept": "application/json"})
    assert script.status_code == 405
    assert "This address" in script.json()["error"]


def test_a_script_hears_that_its_page_is_out_of_date(ada: Member, work: Assignment) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada.user)
    json = {"Accept": "application/json"}
    response = client.post(f"/work/{work.assignment_id}", sheet(Hit.objects.get()), headers=json)
    assert response.status_code == 403
    assert "load this page again" in response.json()["error"]


def test_a_script_hears_that_nobody_is_signed_in(client: Client, work: Assignment) -> None:
    json = {"Accept": "application/json"}
    response = client.post(f"/work/{work.assignment_id}", sheet(Hit.objects.get()), headers=json)
    assert response.status_code == 403
    assert "Sign in again in another tab" in response.json()["error"]


def test_the_table_names_every_address() -> None:
    named = {path for _, path in TABLE}
    patterns = list(get_resolver("annotation.urls").url_patterns)
    assert all(isinstance(one, URLPattern) for one in patterns)
    arguments = {"code": "CODE", "pk": 0, "assignment_id": "0" * 32, "name": "faq", "signed": "x"}
    for pattern in patterns:
        if pattern.name in ELSEWHERE:
            continue
        wanted = {name: arguments[name] for name in pattern.pattern.converters}
        path = reverse(pattern.name, kwargs=wanted).replace("0" * 32, "HIT").replace("/0", "/PK")
        assert {("GET", path), ("POST", path)} <= set(TABLE), f"{path} is not in {named}"


def test_a_page_that_is_not_there_looks_like_the_site(client: Client) -> None:
    response = client.get("/no-such-page")
    assert response.status_code == 404
    assert "Page not found" in response.content.decode()


def test_every_page_says_what_it_may_load(ada: Member, work: Assignment, client: Client) -> None:
    member = signed_in(ada.user)
    pages = [
        client.get("/"),
        client.get("/sign-in"),
        client.get("/no-such-page"),
        member.get("/team"),
    ]
    pages += [member.get("/work"), member.get(f"/work/{work.assignment_id}")]
    for page in pages:
        rules = page["Content-Security-Policy"].split("; ")
        assert "default-src 'none'" in rules
        assert "frame-ancestors 'none'" in rules
        assert "script-src 'self'" in rules
        assert page["Referrer-Policy"] == "same-origin"
        assert b"<style" not in page.content
        assert b" style=" not in page.content
    root = signed_in(User.objects.create_superuser("root"))
    # The theme's own scripts stand in its pages; nothing comes from elsewhere.
    rules = root.get("/admin/")["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "frame-ancestors 'none'", "connect-src 'self'"} <= set(rules)
    assert not any("http" in rule or "*" in rule for rule in rules)
