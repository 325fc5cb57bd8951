"""Whoever judges reads before it what they agree to, what is kept of them, and whom to ask."""

from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html
from pytest_django import Settings

from annotation.crowd.hit_url import hit_url
from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.members import invite
from annotation.crowd.prolific.models import Study
from annotation.crowd.turk.accounts import create_account
from annotation.crowd.turk.stores import Environment, store_of
from annotation.protocol.policy.crowds import INHOUSE, MTURK, PANEL, PROLIFIC, CrowdTraits
from tests.annotation.support.hits import make_campaign, make_hit
from tests.annotation.web.stage import make_member, offer_hits, signed_in, start
from tests.support.pages import Response

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _contact(settings: Settings) -> None:
    settings.CONTACT = "rights@example.org"


def read(page: Response) -> str:
    assert page.status_code == 200
    main = html.document_fromstring(page.content).find(".//main")
    assert main is not None
    return " ".join("".join(map(str, main.itertext())).split())


def check(said: str, kept: str, pay: str) -> None:
    assert "Taking part is voluntary" in said
    assert f"{kept}. So is what was decided on your work, paid, and written to you." in said
    assert "For an hour, a code made from your network address guards against misuse." in said
    assert "under a random name and never with your name or ID" in said
    whose = "name" if kept == TEAM else "ID"
    deleted = f", or to have your {whose} deleted" if kept != MTURK.kept else ""
    assert f"To ask what is kept of you{deleted}, write to rights@example.org." in said
    assert pay in said


TEAM = "your username and e-mail address"


def test_a_member_reads_it_before_there_is_an_account_and_whenever_they_like() -> None:
    code = invite(None, note="", days=7, uses=1, now=timezone.now())
    pay = "What a task pays stands beside it before you begin."
    joining = Client().get(f"/join/{code}")
    check(read(joining), TEAM, pay)
    assert "I agree. Create account" in read(joining)
    ada = signed_in(make_member("ada").user)
    check(read(ada.get("/work/kept")), TEAM, pay)
    assert 'href="/work/kept"' in ada.get("/work").content.decode()


@pytest.mark.parametrize(("reward", "pay"), [(0, "It is not paid."), (15, "It pays $0.15 if")])
def test_a_task_of_the_teams_says_it_below_its_instructions(reward: int, pay: str) -> None:
    offer_hits("study", reward_cents=reward)
    ada = signed_in(make_member("ada").user)
    check(read(ada.get(start(ada))), TEAM, pay)


@pytest.mark.parametrize("is_preview", [True, False])
def test_a_page_in_another_servers_frame_says_it(is_preview: bool, settings: Settings) -> None:
    hit = make_hit(make_campaign("faq", **MTURK.defaults()))
    visit = {"assignmentId": "3ADA", "workerId": "AADA", "turkSubmitTo": settings.MTURK_ENDPOINT}
    path = hit_url(hit.key).removeprefix(settings.PUBLIC_URL)
    check(read(Client().get(path, {} if is_preview else visit)), MTURK.kept, "It pays $0.15 if")


@pytest.mark.parametrize(
    ("traits", "panel", "name"),
    [(PANEL, "connect", "CloudResearch Connect"), (PROLIFIC, "prolific", "Prolific")],
)
def test_who_comes_by_a_link_reads_it_before_they_start(
    traits: CrowdTraits, panel: str, name: str
) -> None:
    (hit,) = offer_hits("study", traits=traits)
    link = visits.open_link(hit.campaign.hit_type_id, panel, tasks=2, now=timezone.now())
    if traits.by_study:
        Study.objects.create(link=link, minutes=5, study_id="1")
    said = read(Client().get(f"/panel/{link.key}?{link.parameter}=P7&SESSION_ID=S1"))
    check(said, f"the IDs that {name} gave in the link", "It pays $0.15 if it is approved.")


def test_who_works_for_requesters_reads_what_these_get(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    ada = signed_in(make_member("ada").user)
    assert "requester" not in read(ada.get("/work/kept"))
    with store_of(create_account("lab"), Environment.PRODUCTION).reading():
        pass  # it has a record from now on
    said = read(ada.get("/work/kept"))
    check(said, INHOUSE.kept, "What a HIT pays stands beside it before you accept it")
    assert "whoever pays gets your username and e-mail address" in said
    assert 'href="/work/kept"' in ada.get("/work/turk/production").content.decode()
