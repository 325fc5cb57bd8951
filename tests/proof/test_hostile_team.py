"""A team of one's own: whatever is put into a field of a page, it comes out as a text."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.crowd.inhouse import desk
from annotation.crowd.inhouse.members import invite
from annotation.crowd.inhouse.models import Work
from annotation.models import Hit, Instructions, ItemReport
from annotation.protocol.policy import INHOUSE
from tests.hostile import HALF_CHARACTERS, LONG, MARK
from tests.hostile_campaign import TEXTS, hostile_campaign
from tests.proof.conftest import Read
from tests.proof.harm import harm
from tests.proof.hostile_forms import CODE, WORK, addresses_of, forms_of, pages_of
from tests.proof.test_hostile_pages import read_admin
from tests.team import Team, published_team

pytestmark = pytest.mark.django_db

TOGETHER = "\n\n".join(reversed(TEXTS))
ALONE = (TOGETHER, *LONG.values(), HALF_CHARACTERS.encode(errors="replace").decode(), "\x00")
Clients = dict[str, Client]


@pytest.fixture
def team(tmp_path: Path, settings: Settings) -> Team:
    settings.INDEX_DIR = tmp_path / "index"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.CONTACT = TEXTS[0]
    campaign = hostile_campaign(tmp_path, **INHOUSE, on_failed_control="pay_and_discard")
    return published_team(campaign, "http://testserver")


@pytest.fixture
def clients(team: Team) -> Clients:
    found = {"": Client()}
    for user in User.objects.all():
        found[user.username] = Client()
        found[user.username].force_login(user)
    return found


def check(client: Client, address: str, form: dict[str, str] | None = None) -> None:
    """The page answers in good order, and what it shows has become nothing more."""
    response = client.get(address) if form is None else client.post(address, form)
    assert response.status_code < 500, (address, form)
    for name, value in response.headers.items():
        assert "\n" not in value, name
    if response["Content-Type"].startswith("text/html") and response.content:
        assert harm(response.content) == [], (address, form)


@pytest.mark.slow
def test_no_field_of_a_page_becomes_more_than_text(team: Team, clients: Clients) -> None:
    work = desk.take(team.members["ada"], now=timezone.now())
    assert work
    hit = Hit.objects.get(key=work.offer.annotation)
    keys = list(hit.items.order_by("position").values_list("key", flat=True))
    code = invite(None, note="", days=1, uses=1000, now=timezone.now())
    for form in forms_of(team.campaign, keys):
        mine = in_hand(team, "ada") or work
        address = form.address.replace(CODE, code).replace(WORK, mine.assignment_id)
        for name in form.fields:
            for text in ALONE:
                check(clients[form.who], address, {**form.rest, name: text})
        for text in TEXTS:
            check(clients[form.who], address, {**form.rest, **dict.fromkeys(form.fields, text)})
    assert MARK in Instructions.objects.filter(campaign=team.campaign).latest("version").text
    for who, address in pages_of(team.campaign):
        check(clients[who], address)


def in_hand(team: Team, name: str) -> Work | None:
    works = Work.objects.filter(member=team.members[name], status="accepted")
    return works.select_related("offer").first()


def test_no_part_of_an_address_becomes_more_than_text(team: Team, clients: Clients) -> None:
    for text in (*TEXTS, *ALONE):
        for who, address in addresses_of(team.campaign, text):
            check(clients[who], address)


def test_what_members_hand_in_stays_text_on_every_page_of_the_owner(
    team: Team, clients: Clients, client: Client, read: Read
) -> None:
    for number, text in enumerate((*TEXTS, *ALONE)):
        name = ("ada", "bob")[number % 2]
        work = desk.take(team.members[name], now=timezone.now())
        if work is None:
            break
        hit = Hit.objects.get(key=work.offer.annotation)
        items = list(hit.items.select_related("control").order_by("position"))
        sheet: dict[str, str] = {}
        for item in items:
            expected = item.control.expected if item.control else 0
            sheet |= {f"item-{item.key}": str(expected)}
            sheet |= {f"report-{item.key}": "other", f"report-text-{item.key}": text[:500]}
        clients[name].post(f"/work/{work.assignment_id}", {**sheet, "signals": text})
        in_hand_now = in_hand(team, name)
        if in_hand_now:
            desk.give_back(team.members[name], in_hand_now.assignment_id, now=timezone.now())
    team.advance()
    assert ItemReport.objects.count() > 50
    for who, address in pages_of(team.campaign):
        check(clients[who], address)
    client.force_login(User.objects.get(username="owner"))
    read_admin(read)
