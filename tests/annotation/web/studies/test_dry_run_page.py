"""The page that asks for dry runs and shows what came of them."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from annotation.models import Campaign, Role
from annotation.simulation.options import Options
from retrieval.models import Candidate, Job
from tests.annotation.simulation.test_dry_run import made_up
from tests.worlds.small_campaign import Stage

ADDRESS = "/admin/campaigns/faq/dry-run"
ASKED = {
    "queries": "3",
    "workers": "8",
    "careless": "12.5",
    "spammers": "25",
    "accuracy": "90",
    "control_accuracy": "99",
    "careless_accuracy": "70",
    "careless_control_accuracy": "80",
    "seed": "7",
}


def client_of(campaign: Campaign, role: str) -> Client:
    user = User.objects.create_user(role)
    Role.objects.create(user=user, campaign=campaign, name=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def manager(stage: Stage) -> Client:
    return client_of(stage.campaign, "manager")


def done(state: str = "done", **changes: Any) -> Job:
    result = made_up(**changes) if state == "done" else None
    return Job.objects.create(
        kind="dry-run", subject="faq", state=state, result=result, ended_at=timezone.now()
    )


def text_of(response: object) -> str:
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]


def test_what_is_asked_for_becomes_a_job(stage: Stage, manager: Client) -> None:
    page = text_of(manager.get(ADDRESS))
    assert "5 at most, so that it ends in minutes" in page
    assert "Last dry run" not in page
    assert manager.post(ADDRESS, ASKED).status_code == 302
    job = Job.objects.get()
    assert (job.kind, job.subject, job.requested_by and job.requested_by.username) == (
        "dry-run",
        "faq",
        "manager",
    )
    assert (
        job.arguments
        == Options(
            queries=3,
            workers=8,
            careless=0.125,
            spammers=0.25,
            accuracy=0.9,
            control_accuracy=0.99,
            careless_accuracy=0.7,
            careless_control_accuracy=0.8,
            seed=7,
        ).to_dict()
    )
    page = text_of(manager.get(ADDRESS))
    assert f"/admin/jobs/{job.pk}" in page
    assert "One is under way." in page
    assert "already running for faq" in text_of(manager.post(ADDRESS, ASKED))
    assert Job.objects.count() == 1


def test_what_cannot_be_is_told_and_asks_for_nothing(manager: Client) -> None:
    for wrong, said in [
        ({"queries": "0"}, "greater than or equal to 1"),
        ({"workers": "201"}, "less than or equal to 200"),
        ({"accuracy": "101"}, "less than or equal to 100"),
        ({"accuracy": "<b>much</b>"}, "Enter a number"),
        ({"careless": "60", "spammers": "60"}, "together are more than all"),
        ({"seed": ""}, "This field is required"),
    ]:
        response = manager.post(ADDRESS, ASKED | wrong)
        assert response.status_code == 422
        assert said in text_of(response)
        assert "<b>much" not in text_of(response)
        assert not Job.objects.exists()


def test_the_last_outcome_is_told_and_the_last_four_stand_side_by_side(
    manager: Client, django_assert_max_num_queries: Any
) -> None:
    for spent in (1, 500, 550, 600, 665):
        done(spent_cents=spent)
    done("failed")
    with django_assert_max_num_queries(20):
        page = text_of(manager.get(ADDRESS))
    assert "$133.00 <small>before the dry run $103.74" in page
    assert "93.8% <small>83.0% to 98.0% (95%)" in page
    assert "3 of 5 <small>who submitted work" in page
    assert "Each submitted about 2 HITs, but the rule excludes nobody before 3" in page
    assert page.count('<td class="dash-number">3 of 5</td>') == 4
    cost = [f'<td class="dash-number">{dollars}</td>' for dollars in ("$6.65", "$6.00", "$5.50")]
    assert "Cost</th>" + "".join(cost) in page
    assert "$0.01" not in page


def test_each_chart_comes_as_csv(manager: Client) -> None:
    assert manager.get(ADDRESS, {"csv": "work"}).status_code == 404
    done()
    lines = manager.get(ADDRESS, {"csv": "work"}).content.decode().splitlines()
    assert lines == [
        "People,its votes count,failed a control,discarded with its worker",
        "Careful,30,5,3",
        "Careless,30,5,3",
        "Spammers,30,5,3",
    ]
    cost = manager.get(ADDRESS, {"csv": "cost"}).content.decode().splitlines()
    assert cost[1:] == [
        "First round,76.0",
        "Estimated before,103.74",
        "In the dry run,133.0",
        "All votes needed,190.0",
    ]
    assert manager.get(ADDRESS, {"csv": "none"}).status_code == 404


def test_a_free_team_sees_no_money(stage: Stage, manager: Client) -> None:
    done(has_fee=False, reward_cents=0)
    page = text_of(manager.get(ADDRESS))
    assert "800 <small>assignments, before the dry run 546" in page
    assert "$" not in page.split("Last dry run")[1].split("Run again")[0]


def test_it_says_what_is_different_there(stage: Stage, manager: Client) -> None:
    campaign = stage.campaign
    team = {"crowd": "inhouse", "masters": False, "min_approval_percent": 0, "min_approved": 0}
    campaign.policy_data |= team | {"qualification_items": 3, "reward_cents": 0}
    campaign.save()
    page = text_of(manager.get(ADDRESS))
    assert ("Mechanical Turk" in page, "no fees" in page) == (False, False)
    assert "Simulated people skip the qualification test" in page
    campaign.policy_data |= {"reward_cents": 5}
    campaign.save()
    assert "Your own team costs no fees" in text_of(manager.get(ADDRESS))


def test_without_candidates_there_is_nothing_to_ask_for(stage: Stage, manager: Client) -> None:
    stage.campaign.hits.all().delete()
    stage.campaign.triplets.all().delete()
    Candidate.objects.all().delete()
    page = text_of(manager.get(ADDRESS))
    assert "retrieve them first" in page
    assert '<form method="post" class="dash-form' not in page
