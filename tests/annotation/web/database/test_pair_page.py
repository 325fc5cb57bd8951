"""Whose queries a pair was found for is told to those who see the campaign."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.models import Campaign, Role
from retrieval.models import Candidate
from tests.worlds.small_campaign import retrieved_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


@pytest.fixture
def campaigns(tmp_path: Path) -> tuple[Campaign, Campaign]:
    return retrieved_campaign(tmp_path), retrieved_campaign(tmp_path, "other")


@pytest.fixture
def address(campaigns: tuple[Campaign, Campaign]) -> str:
    """Of a pair that both have as a candidate."""
    return f"/admin/database/pairs/{Candidate.objects.earliest('pk').pair_id}"


def reader(name: str, *, campaign: Campaign | None = None, everywhere: bool = False) -> Client:
    user = User.objects.create_user(name)
    user.user_permissions.add(Permission.objects.get(codename="view_qapair"))
    if campaign or everywhere:
        Role.objects.create(user=user, campaign=campaign, name="viewer")
    client = Client()
    client.force_login(user)
    return client


def report(client: Client, address: str) -> set[str]:
    return {one.query.query_set.name for one in client.get(address).context["candidacies"]}


def test_who_sees_no_campaign_reads_of_none(address: str) -> None:
    page = reader("dan").get(address)
    assert page.status_code == 200
    assert "A candidate of" not in page.content.decode()


def test_who_sees_one_reads_of_that_one(address: str, campaigns: tuple[Campaign, Campaign]) -> None:
    assert report(reader("dan", campaign=campaigns[1]), address) == {"other"}


def test_who_sees_all_reads_of_all(address: str) -> None:
    assert report(reader("dan", everywhere=True), address) == {"faq", "other"}
    staff = Client()
    staff.force_login(User.objects.create_user("cleo", is_staff=True))
    assert report(staff, address) == {"faq", "other"}


def test_it_leads_to_the_withdrawal_of_the_pair_and_then_back(address: str) -> None:
    client = reader("dan")
    assert "withdraw-pairs" not in client.get(address).content.decode()
    User.objects.get().user_permissions.add(Permission.objects.get(codename="change_qapair"))
    for verb in ("withdraw", "restore"):
        [link] = re.findall(rf'"([^"]*{verb}-pairs[^"]*)"', client.get(address).content.decode())
        form = client.get(link).context["form"]
        sent = {"pairs": form["pairs"].value(), "agreed": "yes"}
        assert client.post(link.partition("?")[0], sent).status_code == 302
