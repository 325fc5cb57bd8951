"""The plan as a page, by the API and by command, and the campaign that is made from it."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from annotation.analytics.campaign.plan import (
    Wanted,
    plan_in_words,
    plan_of,
    planned_and_came,
    prediction_of,
)
from annotation.jobs.handlers import HANDLERS
from annotation.models import Account, Behaviour, Campaign, ExpertLabel, Role, Triplet
from annotation.pipeline.labelling.label import write_labels
from annotation.web.new_campaign.plan import MOST_LIKE
from retrieval.jobs import queue
from retrieval.models import Job
from tests.annotation.analytics.quality.test_aggregation import say
from tests.annotation.api.people import Program
from tests.annotation.commands.test_commands import refused, run, run_json
from tests.annotation.support.biased_crowd import biased_crowd
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db

PAGE, NEW = "/admin/campaigns/faq/plan", "/admin/campaigns/new"
POLICY, BUDGET = f"{NEW}?step=policy", f"{NEW}?step=budget"
WANTED = {"error": "0.25", "people": "9", "queries": "3"}


@pytest.fixture
def campaign(small_database: None, tmp_path: Path, settings: Settings) -> Campaign:
    settings.DATA_DIR = tmp_path / "data"
    made = biased_crowd().campaign
    Account.objects.create(campaign=made)
    write_labels(made)
    say(made)
    return made


def client_of(name: str, campaign: Campaign, *permissions: str) -> Client:
    user = User.objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    Role.objects.create(user=user, campaign=campaign, name="viewer")
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def carla(campaign: Campaign) -> Client:
    return client_of("carla", campaign, "add_campaign")


def test_the_page_says_what_command_and_api_say(campaign: Campaign, carla: Client) -> None:
    with CaptureQueriesContext(connection) as asked:
        page = text_of(carla.get(PAGE, {**WANTED, "like": "faq"}))
    assert len(asked) + 2 * (MOST_LIKE - 1) <= 20
    told: Any = run_json(
        "campaign", "plan", "faq", "--error", "0.25", "--people", "9", "--queries", "3"
    )
    program = Program(User.objects.get(username="carla"))
    answer = program.get("campaigns/faq/plan?error=0.25&people=9&queries=3")
    assert answer.status_code == 200
    assert {"campaign": "faq", **answer.json()} == told
    assert f"The cheapest that meets this is {told['choice']['choice']}." in page
    made = plan_of(campaign, Wanted(0.25, people=9, queries=3), [campaign])
    for one in made.choices:
        assert f"{one.made.error:.1%} ({one.low:.1%} to {one.high:.1%})" in page
        assert f"{one.made.cents / 100:,.2f}" in page
        assert all(lack in page for lack in one.lacks)
    assert f"For {told['triplets']} triplets and 9 people." in page


def test_what_nobody_can_have_is_said_with_its_reasons(campaign: Campaign, carla: Client) -> None:
    page = text_of(carla.get(PAGE, {"error": "0.001", "budget": "0.01", "days": "0.01"}))
    assert "None of these meets it" in page
    assert "wrong labels, and 0.1% are wanted" in page
    assert "above the budget" in page
    assert "days too long" in page


def test_a_wrong_field_is_marked(carla: Client) -> None:
    answer = carla.get(PAGE, {"budget": "much"})
    assert answer.status_code == 422
    assert "is no sum of money" in text_of(answer)


@pytest.mark.parametrize("name", ["error", "days", "hours"])
@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_what_is_no_number_is_refused(
    campaign: Campaign, carla: Client, name: str, number: str
) -> None:
    assert carla.get(PAGE, {name: number}).status_code == 422
    program = Program(User.objects.get(username="carla"))
    answer = program.get(f"campaigns/faq/plan?{name}={number}")
    assert (answer.status_code, name in answer.json()["errors"]) == (400, True)
    assert number in refused("campaign", "plan", "faq", f"--{name}={number}")


def test_a_campaign_that_is_named_twice_counts_once(campaign: Campaign, carla: Client) -> None:
    program = Program(User.objects.get(username="carla"))
    once, twice = (
        program.get(f"campaigns/faq/plan?like={like}").json() for like in ("faq", "faq,faq")
    )
    assert once == twice


def test_a_campaign_whose_experts_said_too_little_plans_nothing(
    campaign: Campaign, carla: Client
) -> None:
    ExpertLabel.objects.all().delete()
    answer = carla.get(PAGE)
    assert answer.status_code == 200
    assert "Experts have judged 0 negatives blindly in faq" in text_of(answer)


def test_hours_ask_for_times_that_nobody_told(campaign: Campaign, carla: Client) -> None:
    why = "No browser told how long work took there"
    assert why in text_of(carla.get(PAGE, {"hours": "2"}))
    program = Program(User.objects.get(username="carla"))
    answer = program.get("campaigns/faq/plan?hours=2")
    assert (answer.status_code, why in answer.json()["detail"]) == (422, True)
    sent = {"name": "own", "queries": [{"query": "How?"}], "like": ["faq"], "hours": 2}
    assert program.post("campaigns", sent, key="a").status_code == 422
    assert program.post("campaigns", {**sent, "hours": "nan"}, key="b").status_code == 400
    assert "nan" in refused(
        "campaign", "create", "own", "--sample", "3", "--like", "faq", "--hours", "nan"
    )


def test_only_crowds_whose_votes_one_sees_are_planned_after(
    campaign: Campaign, carla: Client
) -> None:
    program = Program(User.objects.get(username="carla"))
    Role.objects.all().delete()
    assert program.get("campaigns/faq/plan").status_code == 404
    assert carla.get(PAGE).status_code == 404
    sent = {"name": "own", "queries": [{"query": "How?"}], "like": ["faq"]}
    assert program.post("campaigns", sent, key="a").status_code == 404
    assert not Campaign.objects.filter(name="own").exists()


def test_who_may_not_create_campaigns_chooses_nothing(campaign: Campaign) -> None:
    client = client_of("vera", campaign)
    assert "Create a campaign with" not in client.get(PAGE, WANTED).content.decode()
    assert client.post(PAGE, {**WANTED, "choice": "majority of 1"}).status_code == 403


def test_a_choice_begins_a_campaign_that_keeps_what_was_predicted(
    campaign: Campaign, carla: Client
) -> None:
    campaign.policy_data["positive_controls"] = 2
    campaign.save()
    Behaviour.objects.update(active_ms=70_000)
    assert "Plan how many votes to buy" in text_of(carla.get(NEW))
    assert carla.post(PAGE, {**WANTED, "choice": "none"}).status_code == 422
    wanted = {**WANTED, "hours": "2"}
    page = text_of(carla.get(PAGE, wanted))
    assert "With 1 + 1: guessers pass 25.0% of their work instead of 12.5%" in page
    assert "An assignment takes 1 min 10 s of active time" in page
    chosen = carla.post(PAGE, {**wanted, "choice": "90% sure"})
    assert chosen["Location"] == NEW
    page = carla.get(NEW).content.decode()
    assert "The rules that you chose, after faq." in page
    start = {"preset": "plan", "name": "next", "origin": "sample", "sample": "3", "seed": "7"}
    assert carla.post(NEW, start)["Location"] == POLICY
    form = carla.get(POLICY).context["form"]
    rules = {field.name: field.value() for field in form}
    assert (rules["annotators"], rules["wanted_confidence"]) == ("1", "0.9")
    assert (rules["positive_controls"], rules["negative_controls"]) == ("1", "1")
    assert carla.post(POLICY, rules)["Location"] == BUDGET
    carla.post(BUDGET, {"budget": "50"})
    queue.run(Job.objects.get(state="queued").pk, "x", HANDLERS)
    made = Campaign.objects.get(name="next")
    assert made.policy.wanted_confidence == 0.9
    assert (made.policy.positive_controls, made.policy.real_items) == (1, 5)
    told: Any = run_json(
        "campaign", "plan", "faq", "--error", "0.25", "--people", "9", "--queries", "3",
        "--hours", "2",
    )  # fmt: skip
    [predicted] = [one for one in told["choices"] if one["choice"] == "90% sure"]
    assert made.plan is not None
    assert made.plan["like"] == ["faq"]
    hours = predicted["assignments"] * 70 / 3600
    assert predicted["days"] == round(hours / (9 * 2), 2)
    for mine, theirs in (("cents", "cents"), ("label_error", "error"), ("days", "days")):
        assert made.plan[mine] == predicted[theirs]


def test_another_preset_than_the_plans_is_no_plan(campaign: Campaign, carla: Client) -> None:
    carla.post(PAGE, {**WANTED, "choice": "90% sure"})
    start = {"preset": "paper", "name": "next", "origin": "sample", "sample": "3", "seed": "7"}
    carla.post(NEW, start)
    form = carla.get(POLICY).context["form"]
    carla.post(POLICY, {field.name: field.value() for field in form})
    carla.post(BUDGET, {"budget": "50"})
    queue.run(Job.objects.get(state="queued").pk, "x", HANDLERS)
    assert Campaign.objects.get(name="next").plan is None


def test_program_and_command_create_one_after_a_plan_too(
    campaign: Campaign, tmp_path: Path
) -> None:
    owner = User.objects.create_user("olga")
    owner.user_permissions.set(Permission.objects.filter(codename="add_campaign"))
    Role.objects.create(user=owner, campaign=campaign, name="viewer")
    program, query = Program(owner), {"query": "How is bread made?"}
    sent = {"name": "own", "queries": [query], "like": ["faq"], "people": 9}
    assert program.post("campaigns", sent, key="a").status_code == 201
    file = tmp_path / "queries.txt"
    file.write_text("How is bread made?\n")
    run("campaign", "create", "mine", "--queries", str(file), "--like", "faq", "--people", "9")
    plans = [Campaign.objects.get(name=name).plan for name in ("own", "mine")]
    assert plans[0] == plans[1]
    assert plans[0]["triplets"] == 30
    assert "20 are needed" in refused(
        "campaign", "create", "bad", "--queries", str(file), "--like", "mine"
    )


def test_a_campaign_says_what_was_planned_and_what_came(campaign: Campaign, carla: Client) -> None:
    """Planned after itself, what came is in what was predicted of its own policy."""
    assert planned_and_came(campaign) is None
    assert "plan" not in run_json("campaign", "status", "faq")
    campaign.plan = prediction_of(campaign.policy, 120, [campaign], 6)
    campaign.save()
    Account.objects.filter(campaign=campaign).update(budget_cents=5000, paid_cents=4321)
    status: Any = run_json("campaign", "status", "faq")
    planned, came = status["plan"]["planned"], status["plan"]["came"]
    assert (planned["triplets"], came["triplets"], came["cents"]) == (120, 120, 4321)
    assert "like" not in planned  # a campaign that not every reader may know of
    low, high = planned["label_error_interval"]
    assert low < came["label_error"] < high
    cost, votes, error = plan_in_words(status["plan"])
    assert cost.endswith("planned, $43.21 came out")
    assert votes.endswith(f"{came['votes_per_triplet']:.2f} came out")
    assert error.endswith(" came out")
    assert f"{cost}; {votes}; {error}" in run("campaign", "status", "faq")
    carla.post("/admin/campaigns/faq/count")
    assert cost.capitalize()[:12] in text_of(carla.get("/admin/campaigns/faq/"))
    figures = Program(User.objects.get(username="carla")).get("campaigns/faq").json()["figures"]
    assert figures["plan"] == status["plan"]
    Triplet.objects.filter(campaign=campaign).update(
        status="open", label=None, label_source=None, votes=0, positive_votes=0
    )
    words = plan_in_words(planned_and_came(campaign) or {})
    assert words[0].endswith("$43.21 came out for 0 of 120 triplets")
    assert words[1].endswith("none is decided yet")
