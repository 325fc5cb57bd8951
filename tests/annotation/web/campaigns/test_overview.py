"""A campaign's overview: what it says, to whom, what it leads to, and what it costs to show."""

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.access.audit_log import by_command
from annotation.analytics.campaign import snapshots
from annotation.analytics.campaign.snapshots import newest, take
from annotation.models import Campaign, Role, Snapshot
from annotation.operations.operation import perform
from annotation.operations.registry import OPERATIONS
from annotation.pipeline.ledger.reservations import set_budget
from annotation.pipeline.publishing.lifecycle import cancel, pause
from annotation.pipeline.publishing.publish import publish
from retrieval.jobs.queue import request
from retrieval.models import Job
from tests.worlds.small_campaign import Stage, retrieved_campaign
from tests.worlds.team import Team, make_team

pytestmark = pytest.mark.django_db

PAGE = "/admin/campaigns/faq/"
LIVE = PAGE + "live"
COUNT = PAGE + "count"
CHARTS = {
    "labels",
    "agreement",
    "kappa",
    "control-failures",
    "ranks",
    "votes",
    "money",
}
QUERIES = 20


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def client_of(campaign: Campaign, role: str) -> Client:
    user = User.objects.create_user(role)
    Role.objects.create(user=user, campaign=campaign, name=role)
    return signed_in(user)


@pytest.fixture
def judged(stage: Stage) -> Stage:
    """Two HITs are judged, one by two people who differ on rank 1; eve has failed a control."""
    stage.publish()
    stage.work("ada", 1, 1)
    stage.work("bob", 1, lambda _, rank: int(rank > 1))
    stage.work("ada", 2, 0)
    stage.work("eve", 2, slips=1)
    stage.advance()
    return stage


@pytest.fixture
def owner(stage: Stage) -> Client:
    return client_of(stage.campaign, "owner")


def text_of(response: Any) -> str:
    return " ".join(response.content.decode().split())


def stages_of(response: Any) -> dict[str, int]:
    return {one.title: one.triplets for one in response.context["overview"].stages}


def test_the_page_says_how_far_each_stage_is(judged: Stage, owner: Client) -> None:
    take(judged.campaign)
    page = owner.get(PAGE)
    assert page.status_code == 200
    ties = [rank for _, rank in judged.triplets(1)].count(1)
    assert stages_of(page) == {
        "Candidates": 25,
        "Packed": 25,
        "Published": 25,
        "Judged": 10,
        "Labelled": 5 - ties,
        "Unresolved": 0,
    }
    counted = "<dt>Failed or rejected</dt><dd>1<small>Wrong answers to check questions (1)<"
    assert counted in text_of(page)
    assert f'<p class="overview-count">{5 - ties} of 25 triplets labelled</p>' in text_of(page)


def test_hits_and_assignments_are_counted_where_they_cost(judged: Stage, owner: Client) -> None:
    take(judged.campaign)
    max_assignments = judged.hit(1).max_assignments + judged.hit(2).max_assignments + 6
    counted = [(one.title, one.done, one.of) for one in owner.get(PAGE).context["overview"].work]
    assert counted == [
        ("HITs published", 5, 5),
        ("Assignments submitted", 4, max_assignments),
        ("Assignments reviewed", 4, 4),
    ]


def test_the_page_says_what_is_spent_and_how_well_they_agree(judged: Stage, owner: Client) -> None:
    take(judged.campaign)
    page = owner.get(PAGE)
    money = page.context["overview"].money
    assert (money.spent, money.budget) == ("$0.57", "$10,000.00")
    assert judged.campaign.account.reserved_cents
    assert money.left == f"${(1_000_000 - 57 - judged.campaign.account.reserved_cents) / 100:,.2f}"
    ties = [rank for _, rank in judged.triplets(1)].count(1)
    assert page.context["overview"].figures["agreement"]["value"] == (5 - ties) / 5
    assert f"<dd>{(5 - ties) / 5:.3f}<small>" in text_of(page)
    # 1 of 4 failed, Wilson
    assert "<dd>0.250<small>0.046 to 0.699</small>" in text_of(page)


def test_each_chart_has_its_table_and_its_file(judged: Stage, owner: Client) -> None:
    take(judged.campaign)
    page = owner.get(PAGE)
    charts = {chart.key: chart for chart in page.context["charts"]}
    assert set(charts) == CHARTS
    for key, chart in charts.items():
        link = f"{PAGE}charts/{key}.csv"
        assert f'href="{link}"' in text_of(page)
        assert f'id="chart-{key}"' in text_of(page)
        answer = owner.get(link)
        assert answer["Content-Disposition"] == f'attachment; filename="faq-{key}.csv"'
        header, *rows = csv.reader(io.StringIO(answer.content.decode()))
        assert header == chart.header
        shown = [["" if cell is None else str(cell) for cell in row] for row in chart.rows()]
        assert rows == shown
        assert rows


def test_positives_by_rank_are_those_of_the_labels(judged: Stage, owner: Client) -> None:
    take(judged.campaign)
    rows = owner.get(f"{PAGE}charts/ranks.csv").content.decode().splitlines()[1:]
    labels = judged.labels()
    assert rows == [
        f"{rank},{sum(label == 1 for (_, at), label in labels.items() if at == rank)},"
        f"{sum(label == 0 for (_, at), label in labels.items() if at == rank)}"
        for rank in range(1, 6)
    ]


def test_a_chart_that_there_is_not_is_not_found(judged: Stage, owner: Client) -> None:
    assert owner.get(f"{PAGE}charts/ranks.csv").status_code == 404  # nobody has counted yet
    take(judged.campaign)
    assert owner.get(f"{PAGE}charts/ranks.csv").status_code == 200
    assert owner.get(f"{PAGE}charts/other.csv").status_code == 404


def test_the_figures_in_time_are_those_of_the_snapshots(judged: Stage, owner: Client) -> None:
    last = take(judged.campaign)
    hour_ago = last.at - timedelta(hours=1)
    earlier = {**last.figures, "labelled": 1, "agreement": {"value": 0.5, "low": 0.4, "high": 0.6}}
    Snapshot.objects.create(campaign=judged.campaign, at=hour_ago, figures=earlier)
    charts = {chart.key: chart for chart in owner.get(PAGE).context["charts"]}
    labelled, *_ = charts["labels"].series
    assert list(labelled.values) == [1, last.figures["labelled"]]
    assert charts["labels"].labels[0] == f"{hour_ago:%Y-%m-%d %H:%M:%S}"
    value, low, high = charts["agreement"].series
    assert (value.values[0], low.values[0], high.values[0]) == (0.5, 0.4, 0.6)
    assert (value.band, low.band, high.band) == ("", "from", "to")
    assert list(charts["labels"].places) == [
        round(one.timestamp() * 1000) for one in (hour_ago, last.at)
    ]


def test_the_page_counts_nothing_and_the_part_that_moves_does(stage: Stage, owner: Client) -> None:
    page = owner.get(PAGE)
    assert "Not counted yet" in text_of(page)
    assert f'hx-get="{LIVE}?seen=' in text_of(page)
    assert "load, every 5s" in text_of(page)
    assert newest(stage.campaign) is None
    part = owner.get(LIVE, {"seen": page.context["overview"].mark})
    assert part.status_code == 200
    assert "<html" not in text_of(part)
    assert "load" not in part.content.decode().split("hx-trigger")[1].split(">")[0]
    assert stages_of(part)["Packed"] == 25
    assert newest(stage.campaign) is not None


def test_who_has_seen_all_is_sent_nothing_until_something_changes(
    stage: Stage, owner: Client
) -> None:
    mark = owner.get(LIVE).context["overview"].mark
    assert owner.get(LIVE, {"seen": mark}).status_code == 204
    set_budget(stage.campaign, 5000)
    changed = owner.get(LIVE, {"seen": mark})
    assert changed.context["overview"].money.budget == "$50.00"
    mark = changed.context["overview"].mark
    assert owner.get(LIVE, {"seen": mark}).status_code == 204
    pause(stage.campaign)
    assert "paused manually" in text_of(owner.get(LIVE, {"seen": mark})).lower()


def test_a_large_campaign_is_counted_by_a_worker(
    stage: Stage, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SMALL", 24)
    assert "Count now" in text_of(owner.get(LIVE))
    assert newest(stage.campaign) is None
    answer = owner.post(COUNT)
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    job = Job.objects.get()
    assert (job.kind, job.subject, job.state) == ("snapshot", "faq", "queued")
    assert owner.post(COUNT).status_code == 302
    assert Job.objects.count() == 1
    assert "Counting. The figures appear" in text_of(owner.get(PAGE))


def test_the_age_of_old_figures_is_told(
    stage: Stage, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(stage.campaign)
    assert "ago" not in text_of(owner.get(PAGE)).split("Counted")[1].split("</p>")[0]
    monkeypatch.setattr(snapshots, "SMALL", 24)
    Snapshot.objects.update(at=timezone.now() - timedelta(hours=3))
    assert "3 hours ago" in text_of(owner.get(PAGE))


def test_to_count_now_counts_a_small_campaign_at_once(stage: Stage, owner: Client) -> None:
    owner.post(COUNT)
    assert newest(stage.campaign) is not None
    assert not Job.objects.exists()
    assert owner.get(COUNT).status_code == 405


def repairs(page: Any) -> dict[str, str]:
    return {
        trouble.reason: "".join(one.link for one in trouble.repairs)
        for trouble in page.context["overview"].troubles
    }


def test_what_stands_still_comes_with_its_repair(judged: Stage, owner: Client) -> None:
    assert repairs(owner.get(LIVE)) == {}
    judged.campaign.hits.update(expires_at=timezone.now() - timedelta(days=1))
    failed = judged.campaign.outbox.filter(kind="create").first()
    assert failed is not None
    judged.campaign.outbox.filter(pk=failed.pk).update(state="failed", error="No <such> HIT.")
    take(judged.campaign)
    page = owner.get(PAGE)
    assert repairs(page) == {
        "create, once: No <such> HIT. (refused, tried once)": f"{PAGE}operations/retry",
        "5 HITs have expired with votes missing": f"{PAGE}operations/extend?days=7",
    }
    assert "No &lt;such&gt; HIT." in text_of(page)
    # The repair's page says at once what follows.
    assert "can be taken until" in text_of(owner.get(f"{PAGE}operations/extend?days=7"))


def test_a_paused_campaign_says_so_and_offers_to_go_on(stage: Stage, owner: Client) -> None:
    take(stage.campaign)
    pause(stage.campaign)  # since it was counted
    reason = "paused manually: nothing more is bought"
    assert repairs(owner.get(PAGE)) == {reason: f"{PAGE}operations/resume"}
    take(stage.campaign)
    assert repairs(owner.get(PAGE)) == {reason: f"{PAGE}operations/resume"}


def test_a_campaign_at_its_budget_offers_the_budget_that_it_needs(
    stage: Stage, owner: Client
) -> None:
    """A HIT's first round reserves three assignments, 57 cents: the budget reaches two of five."""
    set_budget(stage.campaign, 2 * 57)
    stage.publish()
    take(stage.campaign)
    ((reason, link),) = repairs(owner.get(PAGE)).items()
    assert reason.startswith("at its budget: 3 HITs")
    assert link == f"{PAGE}operations/budget?amount=2.85"


def test_hits_behind_the_first_batch_are_told_with_the_way_on(stage: Stage, owner: Client) -> None:
    publish(stage.campaign, stage.mturk.crowd, most=2)
    take(Campaign.objects.get())
    reason = "3 HITs wait behind the first batch of 2"
    assert repairs(owner.get(PAGE)) == {reason: f"{PAGE}milestones"}
    assert repairs(client_of(stage.campaign, "viewer").get(PAGE)) == {reason: ""}


def test_shares_near_one_are_drawn_from_their_lowest_end_on(judged: Stage, owner: Client) -> None:
    last = take(judged.campaign)
    last.figures |= {
        "agreement": {"value": 0.7, "low": 0.67, "high": 0.75},
        "kappa": {"value": 0.6, "low": 0.4, "high": 0.8},
        "control_failures": {"value": None, "low": None, "high": None},
    }
    last.save()
    charts = {chart.key: chart for chart in owner.get(PAGE).context["charts"]}
    assert (charts["agreement"].least, charts["kappa"].least) == (0.6, None)
    assert charts["control-failures"].least is None


def buttons(page: Any) -> list[str]:
    return [button.link.rpartition("/")[2] for button in page.context["overview"].buttons]


def test_behind_a_first_batch_no_finish_is_foretold(stage: Stage, owner: Client) -> None:
    publish(stage.campaign, stage.mturk.crowd, most=2)
    take(stage.campaign)
    assert "HITs wait behind the first batch" in owner.get(PAGE).content.decode()


def test_a_campaign_of_another_crowd_says_that_no_pass_is_made(
    stage: Stage, owner: Client, settings: Settings
) -> None:
    stage.publish()
    take(stage.campaign)
    assert "no pass is made" not in owner.get(PAGE).content.decode()
    for elsewhere in ("http://127.0.0.1:9", "nowhere"):
        settings.MTURK_ENDPOINT = elsewhere
        page = owner.get(PAGE).content.decode()
        assert f"ublished at {stage.campaign.endpoint}, which is not the crowd" in page
        assert "nobody is asked at its crowd" in page


def test_the_acts_that_fit_the_state_are_offered(stage: Stage, owner: Client) -> None:
    assert buttons(owner.get(PAGE)) == ["pause", "budget", "cancel"]
    stage.publish()
    take(stage.campaign)
    assert buttons(owner.get(PAGE)) == [
        "pause",
        "budget",
        "extend",
        "expire",
        "reconcile",
        "cancel",
    ]
    pause(stage.campaign)
    assert buttons(owner.get(PAGE)) == ["resume", "budget", "expire", "reconcile", "cancel"]
    cancel(stage.campaign, timezone.now())
    assert buttons(owner.get(PAGE)) == ["reconcile"]


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        ("owner", ["pause", "budget", "extend", "expire", "reconcile", "cancel"]),
        ("manager", ["pause", "extend", "expire", "reconcile"]),
        ("adjudicator", []),
        ("viewer", []),
    ],
)
def test_a_reader_is_offered_what_their_role_may_do(
    judged: Stage, role: str, offered: list[str]
) -> None:
    take(judged.campaign)
    reader = client_of(judged.campaign, role)
    assert buttons(reader.get(PAGE)) == offered
    judged.campaign.hits.update(expires_at=timezone.now() - timedelta(days=1))
    link = f"{PAGE}operations/extend?days=7" if "extend" in offered else ""
    assert list(repairs(reader.post(COUNT, follow=True)).values()) == [link]


def test_the_page_asks_the_database_as_often_whatever_it_holds(
    stage: Stage, owner: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    take(stage.campaign)
    with django_assert_max_num_queries(QUERIES) as few:
        owner.get(PAGE)
    stage.publish()
    for number in range(1, 6):
        for name in ("ada", "bob"):
            stage.work(name, number)
    stage.campaign.hits.filter(number=5).update(expires_at=timezone.now() - timedelta(days=1))
    stage.advance()
    last = take(stage.campaign)
    Snapshot.objects.bulk_create(
        Snapshot(campaign=last.campaign, at=last.at - timedelta(minutes=m), figures=last.figures)
        for m in range(1, 200)
    )
    # It is complete: its releases and its pairs of workers are shown too.
    with django_assert_max_num_queries(len(few) + 2):
        page = owner.get(PAGE)
    assert len(page.context["charts"][0].labels) == 60
    with django_assert_max_num_queries(QUERIES):
        owner.get(LIVE)
    with django_assert_max_num_queries(QUERIES):
        owner.get(f"{PAGE}charts/labels.csv")


def test_after_an_act_the_page_shows_what_came_of_it(judged: Stage, owner: Client) -> None:
    seen = owner.get(LIVE).context["overview"].mark
    perform(OPERATIONS["pause"], judged.campaign, {}, by=by_command())
    page = owner.get(LIVE, {"seen": seen})
    assert page.context["overview"].figures["status"]["operation"] == "resume"


@pytest.fixture
def team(small_database: None, tmp_path: Path) -> Team:
    return make_team(tmp_path, "http://testserver")


def test_where_no_money_moves_none_is_shown(team: Team) -> None:
    set_budget(team.campaign, 0)
    take(team.campaign)
    page = client_of(team.campaign, "manager").get(PAGE)
    assert page.context["overview"].money is None
    assert "Money</h2>" not in text_of(page)
    assert "money" not in {chart.key for chart in page.context["charts"]}


def test_an_other_work_under_way_does_not_look_like_counting(stage: Stage, owner: Client) -> None:
    request("collect", "faq", {}, by=None)
    request("snapshot", "other", {}, by=None)
    assert owner.get(PAGE).context["overview"].counting is None


def test_before_anything_is_packed_there_are_no_charts_of_zeros(
    tmp_path: Path, small_database: None
) -> None:
    campaign = retrieved_campaign(tmp_path)
    take(campaign)
    page = client_of(campaign, "owner").get(PAGE)
    assert page.context["charts"] == []
    assert "Continue with the milestones" in text_of(page)
