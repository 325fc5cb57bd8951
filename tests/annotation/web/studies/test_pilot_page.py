"""Pilots on their pages: priced, made, and reported on to who sees both conditions."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from annotation.models import AuditEntry, Campaign, ExpertLabel, Pilot, Role
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.setup.create_pilot import create_pilot
from tests.worlds.small_campaign import retrieved_campaign

PILOTS = "/admin/pilots/"
PILOT = "/admin/pilots/answers/"
NEW = "/admin/campaigns/faq/operations/pilot"
ASKED = {"pilot": "answers", "triplets": "10", "seed": "3", "budget": "20"}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("small_database")]


@pytest.fixture
def source(tmp_path: Path) -> Campaign:
    return retrieved_campaign(tmp_path)


def creator(name: str = "ada", campaign: Campaign | None = None) -> Client:
    """Sees the campaign, and may create others."""
    user = User.objects.create_user(name)
    user.user_permissions.add(Permission.objects.get(codename="add_campaign"))
    if campaign:
        Role.objects.create(user=user, campaign=campaign, name="viewer")
    client = Client()
    client.force_login(user)
    return client


def viewer_of(name: str, *campaigns: Campaign) -> Client:
    user = User.objects.create_user(name)
    for campaign in campaigns:
        Role.objects.create(user=user, campaign=campaign, name="viewer")
    client = Client()
    client.force_login(user)
    return client


def text_of(response: object) -> str:
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]


def test_the_estimate_comes_first_and_then_both_campaigns(source: Campaign) -> None:
    client = creator(campaign=source)
    assert f'href="{NEW}"' in text_of(client.get(PILOTS))
    said = text_of(client.post(NEW, ASKED | {"budget": ""}))
    assert "10 triplets of faq are drawn and copied into two campaigns, answers-with and" in said
    assert "Each condition takes 2 HITs, about 6 assignments." in said
    assert "A condition costs $0.76 in the first round, about $1.14 with its ties and $1.90" in said
    assert not Pilot.objects.exists()
    assert client.post(NEW, ASKED | {"agreed": "yes"})["Location"] == PILOTS
    pilot = Pilot.objects.get()
    owned = Role.objects.filter(user__username="ada", name="owner")
    assert set(owned.values_list("campaign__name", flat=True)) == {
        pilot.shown.name,
        pilot.hidden.name,
    }
    for condition in (pilot.shown, pilot.hidden):
        assert account_of(condition).budget_cents == 2000
    entry = AuditEntry.objects.get()
    assert (entry.campaign, entry.details["pilot"], entry.details["conditions"]) == (
        source, "answers", ["answers-with", "answers-without"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pilot": "a b"}, "cannot name a pilot"),
        ({"pilot": "<b>x</b>"}, "cannot name a pilot"),
        ({"pilot": "a" * 51}, "cannot name a pilot"),
        ({"triplets": "26"}, "26 triplets of faq cannot be drawn: it has 25 candidates"),
        ({"budget": "much"}, "is no sum of money"),
    ],
)
def test_what_cannot_be_made_is_told(source: Campaign, wrong: dict[str, str], said: str) -> None:
    response = creator(campaign=source).post(NEW, ASKED | wrong)
    assert response.status_code == 422
    assert said in text_of(response)
    assert "<b>x" not in text_of(response)
    assert not Pilot.objects.exists()


def test_nobody_draws_from_a_campaign_that_they_do_not_see(
    source: Campaign, tmp_path: Path
) -> None:
    other = retrieved_campaign(tmp_path, "other")
    client = creator(campaign=other)
    assert client.post(NEW, ASKED | {"agreed": "yes"}).status_code == 404
    assert NEW not in text_of(client.get(PILOTS))
    assert not Pilot.objects.exists()


def judged(pilot: Pilot) -> None:
    """With the answer 1 of 10 is wrong, without it 3, that one among them."""
    for condition, wrong in ((pilot.shown, 1), (pilot.hidden, 3)):
        for number, triplet in enumerate(
            condition.triplets.order_by("candidate__query__key", "pk")
        ):
            triplet.status, triplet.label, triplet.votes = "labelled", int(number < wrong), 2
            triplet.save()
            if condition == pilot.shown:
                ExpertLabel.objects.create(triplet=triplet, expert="bob", label=0, source="import")


def test_the_page_says_how_often_each_arm_errs(
    source: Campaign, django_assert_max_num_queries: Any
) -> None:
    pilot = create_pilot(source, "answers", triplets=10, seed=3)
    client = viewer_of("cleo", pilot.shown, pilot.hidden)
    assert "Nothing to compare yet" in text_of(client.get(PILOT))
    assert client.get(PILOT, {"csv": "errors"}).status_code == 404
    judged(pilot)
    with django_assert_max_num_queries(20):
        page = text_of(client.get(PILOT))
    assert "Undecided</span>" in page
    assert "<dt>Error with the answer</dt><dd>10.0% <small>1.8% to 40.4%" in page
    assert "<dt>Error without it</dt><dd>30.0% <small>10.8% to 60.3%" in page
    assert "<dd>+20.0 points <small>" in page
    assert "<dd>-67% <small>the paper: up to -45%" in page
    assert (
        'Wrong with the answer</th><td class="dash-number">1</td><td class="dash-number">0<' in page
    )
    assert (
        'Right with the answer</th><td class="dash-number">2</td><td class="dash-number">7<' in page
    )
    lines = client.get(PILOT, {"csv": "errors"}).content.decode().splitlines()
    assert lines == [
        "Condition,error rate,interval from,interval to",
        "With the answer,10.0,1.79,40.42",
        "Without it,30.0,10.78,60.32",
    ]


def test_only_who_sees_both_conditions_sees_the_pilot(source: Campaign) -> None:
    pilot = create_pilot(source, "answers", triplets=10, seed=3)
    both = viewer_of("cleo", pilot.shown, pilot.hidden)
    assert "answers" in text_of(both.get(PILOTS))
    assert "New pilot" not in text_of(both.get(PILOTS))
    assert both.get(PILOT).status_code == 200
    one = viewer_of("dan", pilot.shown)
    assert PILOT not in text_of(one.get(PILOTS))
    assert one.get(PILOT).status_code == 404


def test_strangers_and_the_signed_out_see_none(source: Campaign, client: Client) -> None:
    create_pilot(source, "answers", triplets=10, seed=3)
    assert client.get(PILOT).status_code == client.get(PILOTS).status_code == 302
    client.force_login(User.objects.create_user("eve"))
    assert client.get(PILOTS).status_code == client.get(PILOT).status_code == 403
