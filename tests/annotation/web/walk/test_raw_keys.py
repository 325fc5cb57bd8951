"""No page shows people a word that only the code knows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Field
from django.test import Client
from pytest_django import Settings

from annotation.access.audit_log import by_command, record
from annotation.operations.registry import OPERATIONS
from tests.annotation.api.world import World
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.annotation.web.walk.addresses import ROWS
from tests.annotation.web.walk.crawl import crawl, texts
from tests.annotation.web.walk.test_page_queries import of_the_world, world
from tests.annotation.web.walk.test_team_words import work_on
from tests.annotation.web.walk.walk import ADMIN_OF_A_MODEL, Site

__all__ = ["world"]
pytestmark = pytest.mark.django_db

# What a reader copies, types, or reads as it is in a file.
AS_IT_IS = ("script", "code", "pre", "kbd", "samp", "textarea")
ICONS = re.compile(r'(<\w+ class="[^"]*material-symbols-outlined[^"]*"[^>]*>)[^<]*')
RAW = re.compile(
    r"\b[a-z]+_[a-z_]+\b"  # pay_and_discard
    r"|\b(QQA?|QAQ?)\b"
    r"|\b(inhouse|bm25|dense)\b"
    r"|(^|: )(True|False|None|no|yes)$"
)
NAMES = re.compile(r"\bir_measures\b|\S+\.\w+\b")  # of a library, of files
IN_DOLLARS = re.compile(r".{0,40}(?:\$\d|\bdollars?\b|\bUSD\b).{0,40}", re.IGNORECASE)
WORDS = {"rank"}  # keys that are words of ours as well
# Django's own pages of the tables show them as they are stored.
RECORDS = re.compile(r"/admin/(annotation|auth|exports|inhouse|knox|retrieval)/")
SHOWN_BY = (*(f"/admin/{one}" for one in ("campaigns", "controls", "pilots", "database", "jobs")),)
SHOWN_BY += ("/admin/log", "/admin/events", "/campaigns", "/releases", "/team", "/mails", "/work")


def keys() -> set[str]:
    """Values of the tables that people read in other words."""
    choices = (
        choice
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, Field) and field.choices
        for choice in field.flatchoices
    )
    told = {str(key) for key, words in choices if not str(words).lower().startswith(str(key))}
    return {key for key in told - WORDS if not key.isdigit()}


def raw(page: str) -> Iterator[str]:
    stored = keys() | {name for name in OPERATIONS if "-" in name}
    for text in texts(ICONS.sub(r"\1", page), outside=AS_IT_IS):
        if text in stored or RAW.search(NAMES.sub("", text)):
            yield text


def faults(pages: dict[str, str]) -> dict[str, str]:
    return {text: at for at, page in pages.items() if page for text in raw(page)}


def test_a_raw_key_is_seen() -> None:
    page = "<p>Where a control is missed: <b>pay_and_discard</b><p>Already: no<p>qrels_train.tsv"
    assert list(raw(page)) == ["pay_and_discard", "Already: no"]


def test_no_page_of_a_judged_campaign_shows_one(world: World, admin_client: Client) -> None:
    for name in OPERATIONS:
        details = {"on_tie": {"tie_mode": "extend"}, "paid_cents": 5}
        record(by_command(), name, campaign=world.campaign, details=details)
    start = ["/admin/campaigns/", "/admin/log/", "/admin/events/", "/releases", "/team", "/mails"]
    pages = crawl(admin_client, [*start, *of_the_world(world)], SHOWN_BY)
    assert len([page for page in pages.values() if page]) > 200
    assert faults(pages) == {}


@pytest.fixture
def pounds(settings: Settings) -> None:
    settings.CURRENCY = "GBP"


def test_no_page_of_a_site_in_pounds_speaks_of_dollars(
    pounds: None, world: World, admin_client: Client
) -> None:
    own = f"/admin/campaigns/{world.campaign}/"
    begun = ("/admin/campaigns/", own, "/work", "/admin/campaigns/new")
    found, in_pounds = {}, set()
    for address in (*begun, *of_the_world(world)):
        answer = admin_client.get(address)
        if "text/html" in answer.get("Content-Type", "") and answer.content:
            page = " ".join(texts(answer.content.decode()))
            found |= dict.fromkeys(IN_DOLLARS.findall(page), address)
            in_pounds |= {address} if "£" in page else set()
    assert found == {}
    assert own in in_pounds


@pytest.mark.parametrize("is_published", [False, True])
@pytest.mark.usefixtures("small_database")
def test_no_page_of_a_team_s_campaign_shows_one(
    tmp_path: Path, admin_client: Client, is_published: bool
) -> None:
    team = own_team(tmp_path)
    if is_published:
        work_on(team)
    own = f"/admin/campaigns/{team.campaign}/"
    operations = [f"{own}operations/{name}" for name in OPERATIONS]
    pages = crawl(admin_client, [own, *operations], (own, f"/campaigns/{team.campaign}/"))
    assert faults(pages) == {}


def test_no_address_of_the_walk_shows_one() -> None:
    site, found = Site(), {}
    for person in ("root", "annotator", "nobody"):
        client = Client()
        if person != "nobody":
            client.force_login(User.objects.get(username=person))
        for route in ROWS:
            if not ADMIN_OF_A_MODEL.match(route) and not route.startswith(("api/", "^api/")):
                answer = client.get(site.address(route))
                if "text/html" in answer.get("Content-Type", "") and answer.content:
                    found |= faults({f"{person} {route}": answer.content.decode()})
    assert found == {}
