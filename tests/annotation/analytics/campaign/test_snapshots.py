"""The figures of a campaign at a time: by hand, against the record counted row by row, and when."""

import math
import random
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.access.audit_log import by_command, record
from annotation.analytics.campaign import snapshots
from annotation.analytics.campaign.progress import progress
from annotation.analytics.campaign.snapshots import (
    is_old,
    newest,
    series,
    take,
    take_after_a_pass,
    take_if_old,
)
from annotation.analytics.workers import shared_errors
from annotation.jobs.tasks import advance_campaign, run_job
from annotation.models import Assignment, Campaign, Judgment, Snapshot
from annotation.pipeline.labelling.tallies import bring_up_to_date
from annotation.pipeline.publishing.lifecycle import pause
from annotation.protocol.labels.agreement import REPLICATES, SEED
from retrieval.jobs.queue import request
from tests.conftest import SetStage
from tests.support.command_line import quorum
from tests.worlds.small_campaign import QUERIES, Stage

pytestmark = pytest.mark.django_db

PRICE = 19
NONE = {"value": None, "low": None, "high": None}


STAGES = ("candidates", "triplets", "triplets_published", "judged", "labelled", "unresolved")


def stages(figures: dict[str, Any]) -> list[int]:
    """From the candidates on, in triplets."""
    return [figures[name] for name in STAGES]


def halfway(stage: Stage) -> tuple[int, int]:
    """As in test_progress: ada on HITs 1 to 3, bob on 1, eve excluded after 2 to 4.

    Ada says yes on ranks 1 and 2, bob on rank 1 alone; how many of HIT 1 have which rank.
    """
    stage.publish()
    for number in (1, 2, 3):
        stage.work("ada", number, lambda _, rank: int(rank <= 2))
    stage.work("bob", 1, lambda _, rank: int(rank == 1))
    stage.work("eve", 2, 1)
    stage.work("eve", 3, 0)
    stage.work("eve", 4, slips=1)
    stage.advance()
    ranks = [rank for _, rank in stage.triplets(1)]
    return ranks.count(1), ranks.count(2)


def test_before_it_is_published_a_campaign_has_its_triplets_and_no_votes(stage: Stage) -> None:
    figures = take(stage.campaign).figures
    assert stages(figures) == [25, 25, 0, 0, 0, 0]
    assert (figures["hits"], figures["hits_published"]) == (5, 0)
    assert (figures["began"], figures["ended"]) == (None, None)
    assert figures["votes_per_triplet"] == [25]
    assert figures["positives_by_rank"] == [[rank, 0, 0] for rank in range(1, 6)]
    assert figures["agreement"] == figures["kappa"] == figures["control_failures"] == NONE
    assert (figures["label_cents"], figures["eta"], figures["blockers"]) == (None, None, [])
    assert figures["budget_cents"] == figures["available_cents"] == 1_000_000


def test_every_figure_is_right_halfway(stage: Stage) -> None:
    yes, ties = halfway(stage)
    figures = take(stage.campaign).figures
    assert stages(figures) == [25, 25, 25, 15, 5 - ties, 0]
    assert figures["progress"] == f"{5 - ties} of 25 triplets labelled"
    assert (figures["hits_published"], figures["hits"]) == (5, 5)
    assert (figures["submitted"], figures["max_assignments"]) == (7, 13 + (ties > 0))
    assert figures["reviewed"] == 7
    last = Assignment.objects.latest("submitted_at")
    first = stage.campaign.hits.earliest("published_at")
    assert first.published_at
    assert figures["began"] == first.published_at.isoformat()
    assert figures["ended"] == last.submitted_at.isoformat()
    assert (figures["workers"], figures["excluded_workers"]) == (3, 1)
    assert (figures["open"], figures["unresolved"], figures["positive"]) == (20 + ties, 0, yes)
    # HIT 1 has two votes a triplet, HITs 2 and 3 ada's alone, HITs 4 and 5 none.
    assert figures["votes_per_triplet"] == [10, 10, 5]
    assert (figures["votes"], figures["votes_discarded"]) == (20, 10)
    assert (figures["pairs"], figures["ties"]) == (5, ties)
    assert figures["agreement"]["value"] == (5 - ties) / 5
    # Wilson: (1/7 + z2/14 +- z sqrt(6/343 + z2/196)) / (1 + z2/7), z2 = 3.84146
    assert figures["control_failures"] == {"value": 0.1429, "low": 0.0257, "high": 0.5131}
    assert figures["spent_cents"] == 6 * PRICE
    labels = 5 - ties
    assert figures["label_cents"] == (round(6 * PRICE / labels, 4) if labels else None)


def test_what_the_command_counts_too_is_the_same(stage: Stage) -> None:
    halfway(stage)
    figures, status = take(stage.campaign).figures, progress(stage.campaign)
    same = set(figures) & set(status) - {"agreement", "status", "blockers"}
    assert len(same) > 25
    assert {key: figures[key] for key in same} == {key: status[key] for key in same}
    assert figures["agreement"]["value"] == status["agreement"]


@pytest.fixture
def voted(stage: Stage) -> Stage:
    """Three people judge all there is, by dice: the third breaks the ties of the others."""
    dice = random.Random(5)
    stage.publish()
    for name in ("ada", "bob", "cleo"):
        stage.advance()
        for number in range(1, 6):
            if stage.hit(number).max_assignments > stage.hit(number).assignments.count():
                stage.work(name, number, lambda _, rank: int(dice.random() < 0.9 / rank))
    stage.advance()
    return stage


def test_positives_by_rank_are_those_of_the_labels_counted_one_by_one(voted: Stage) -> None:
    labels = voted.labels()
    by_rank = take(voted.campaign).figures["positives_by_rank"]
    assert by_rank == [
        [
            rank,
            sum(labels[query, rank] in (0, 1) for query in QUERIES),
            sum(labels[query, rank] == 1 for query in QUERIES),
        ]
        for rank in range(1, 6)
    ]
    assert 0 < sum(positive for _, _, positive in by_rank) < 25


def first_two(stage: Stage) -> dict[str, list[tuple[int, int]]]:
    """Query -> the first two votes of its triplets, from the judgments one after the other."""
    votes: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    works = Judgment.objects.exclude(triplet=None).order_by(
        "assignment__submitted_at", "assignment__crowd_id"
    )
    for judgment in works.select_related("triplet__candidate__query"):
        assert judgment.triplet is not None
        candidate = judgment.triplet.candidate
        votes[candidate.query.key, candidate.rank].append(judgment.value)
    pairs: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for (query, _), given in votes.items():
        pairs[query].append((given[0], given[1]))
    return pairs


def test_kappa_and_its_interval_are_those_of_the_votes_laid_out(voted: Stage) -> None:
    """The same draws of whole queries, but every resample is laid out and counted by itself."""
    pairs = first_two(voted)
    keys = voted.campaign.query_set.queries.order_by("pk").values_list("key", flat=True)
    rows = [pairs[key] for key in keys]

    def kappa_of(drawn: list[list[tuple[int, int]]]) -> float:
        votes = [pair for row in drawn for pair in row]
        n = len(votes)
        first, second = (sum(pair[turn] for pair in votes) for turn in (0, 1))
        chance = (first * second + (n - first) * (n - second)) / n**2
        alike = sum(one == two for one, two in votes) / n
        return (alike - chance) / (1 - chance) if chance < 1 else math.nan

    figures = take(voted.campaign).figures
    draw = np.random.RandomState(SEED)
    resamples = [kappa_of([rows[row] for row in draw.randint(0, 5, 5)]) for _ in range(REPLICATES)]
    assert figures["kappa"]["value"] == pytest.approx(kappa_of(rows), abs=0.0001)
    low, high = np.nanquantile(resamples, [0.025, 0.975])
    assert figures["kappa"]["low"] == pytest.approx(low, abs=0.0001)
    assert figures["kappa"]["high"] == pytest.approx(high, abs=0.0001)
    assert figures["pairs"] == 25
    assert 0 < figures["ties"] == sum(one != two for row in rows for one, two in row)


def test_votes_per_triplet_are_those_of_the_judgments(voted: Stage) -> None:
    votes = Counter(Judgment.objects.exclude(triplet=None).values_list("triplet", flat=True))
    per_triplet = take(voted.campaign).figures["votes_per_triplet"]
    assert dict(enumerate(per_triplet)) == {n: Counter(votes.values())[n] for n in range(4)}


def test_what_holds_a_campaign_up_is_told_with_its_repair(stage: Stage) -> None:
    stage.publish()
    stage.campaign.hits.update(expires_at=timezone.now() - timedelta(days=1))
    pause(stage.campaign)
    figures = take(stage.campaign).figures
    assert figures["status"]["operation"] == "resume"
    assert figures["status"]["reason"] == "paused manually: nothing more is bought"
    assert figures["blockers"] == [
        {
            "sentence": "5 HITs have expired with votes missing: `quorum campaign extend faq "
            "--days 7` gives them more time",
            "reason": "5 HITs have expired with votes missing",
            "operation": "extend",
            "options": {"days": 7},
            "alternative": None,
        }
    ]


def stored(stage: Stage, at: datetime, **changes: object) -> Snapshot:
    """As one that was taken then, with other figures."""
    figures = {**take(stage.campaign).figures, **changes}
    stage.campaign.snapshots.filter(at__gt=at).delete()
    return Snapshot.objects.create(campaign=stage.campaign, at=at, figures=figures)


def test_rate_and_forecast_follow_from_the_snapshots_of_the_last_hours(stage: Stage) -> None:
    """Four hours ago 2 labels and 23 open, two hours ago 6 and 19; now 10 and 15.

    2 an hour, evenly: the 15 that are left take 7.5 hours. What was the day before does not count.
    """
    begun, now = take(stage.campaign), timezone.now()
    Snapshot.objects.bulk_create(
        Snapshot(
            campaign=stage.campaign,
            at=now - timedelta(hours=hours),
            figures={**begun.figures, "labelled": done, "open": 25 - done},
        )
        for hours, done in ((30, 0), (4, 2), (2, 6))
    )
    begun.delete()
    stage.campaign.triplets.filter(
        pk__in=stage.campaign.triplets.order_by("pk").values("pk")[:10]
    ).update(status="labelled", label=0)
    figures = take(stage.campaign).figures
    assert figures["rates"]["labelled"] == pytest.approx(2, rel=0.01)
    assert figures["rates"]["hits_published"] == 0
    assert figures["eta"]["hours"] == pytest.approx(7.5, rel=0.01)
    assert figures["eta"]["least"] == pytest.approx(7.5, rel=0.01)
    assert figures["eta"]["most"] == pytest.approx(7.5, rel=0.01)


def test_where_nothing_came_there_is_no_forecast(stage: Stage) -> None:
    stored(stage, timezone.now() - timedelta(hours=2))
    figures = take(stage.campaign).figures
    assert figures["eta"] is None
    assert figures["rates"]["labelled"] == 0


def test_a_new_snapshot_thins_the_old_ones_of_its_campaign_alone(set_stage: SetStage) -> None:
    stage, other = set_stage(), set_stage("other")
    figures = take(stage.campaign).figures
    stage.campaign.snapshots.all().delete()
    quarter = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=5)
    for one in (stage, other):
        Snapshot.objects.bulk_create(
            Snapshot(campaign=one.campaign, at=quarter + timedelta(minutes=m), figures=figures)
            for m in (1, 7, 14, 16)
        )
    take(stage.campaign)
    kept = list(stage.campaign.snapshots.order_by("at").values_list("at", flat=True))
    assert kept[:2] == [quarter + timedelta(minutes=m) for m in (14, 16)]
    assert len(kept) == 3
    assert other.campaign.snapshots.count() == 4


def test_a_pass_of_the_clock_leaves_a_snapshot(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1)
    advance_campaign(stage.campaign.pk)
    last = newest(stage.campaign)
    assert last is not None
    assert last.figures["submitted"] == last.figures["reviewed"] == 1


def test_collecting_by_command_or_by_job_leaves_a_snapshot(stage: Stage) -> None:
    stage.publish()
    quorum("campaign", "collect", "faq", "--quiet")
    assert stage.campaign.snapshots.count() == 1
    stage.campaign.snapshots.update(at=timezone.now() - timedelta(hours=1))
    job = request("collect", "faq", {}, by=None)
    run_job(job.pk)
    assert stage.campaign.snapshots.count() == 2


def test_figures_that_cannot_be_taken_spoil_no_work_that_is_done(stage: Stage) -> None:
    stage.publish()
    damaged = Snapshot.objects.create(campaign=stage.campaign, at=timezone.now(), figures={})
    job = request("collect", "faq", {}, by=None)
    with pytest.raises(KeyError):  # for Celery to log
        run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    with pytest.raises(KeyError):
        advance_campaign(stage.campaign.pk)
    damaged.delete()
    advance_campaign(stage.campaign.pk)
    assert stage.campaign.snapshots.count() == 1


def test_figures_are_taken_when_candidates_are_packed_however_long_the_last_ones_took(
    stage: Stage,
) -> None:
    """No pass follows that would, before the campaign is published."""
    old = {**take(stage.campaign).figures, "seconds": 1e6, "outlook": {}}
    Snapshot.objects.update(figures=old)
    run_job(request("pack", "faq", {}, by=None).pk)
    last = newest(stage.campaign)
    assert last is not None
    assert last.figures["outlook"]


def test_a_job_counts_whatever_the_size(stage: Stage) -> None:
    job = request("snapshot", "faq", {}, by=None)
    run_job(job.pk)
    job.refresh_from_db()
    last = newest(stage.campaign)
    assert last is not None
    assert (job.state, job.result) == ("done", {"seconds": last.figures["seconds"]})


def test_where_counting_takes_long_not_every_pass_counts(stage: Stage) -> None:
    """What took 6 seconds is not done again within two minutes."""
    last = take(stage.campaign)
    last.figures["seconds"] = 6
    last.at = timezone.now() - timedelta(seconds=110)
    last.save()
    take_after_a_pass(stage.campaign)
    assert stage.campaign.snapshots.count() == 1
    Snapshot.objects.update(at=timezone.now() - timedelta(seconds=130))
    take_after_a_pass(stage.campaign)
    assert stage.campaign.snapshots.count() == 2


def test_a_reader_has_a_small_campaign_counted_when_a_minute_is_over(stage: Stage) -> None:
    first = take_if_old(stage.campaign)
    assert first is not None
    assert take_if_old(stage.campaign) == first
    Snapshot.objects.update(at=timezone.now() - timedelta(seconds=70))
    assert take_if_old(stage.campaign) != first


def test_after_an_act_the_figures_are_old(stage: Stage) -> None:
    last = take(stage.campaign)
    assert not is_old(stage.campaign, last)
    record(by_command(), "pause", campaign=stage.campaign)
    assert is_old(stage.campaign, last)


def test_no_reader_waits_for_a_large_campaign(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SMALL", 24)
    assert take_if_old(stage.campaign) is None
    monkeypatch.setattr(snapshots, "SMALL", 25)
    assert take_if_old(stage.campaign) is not None


def test_a_series_is_spread_evenly_and_ends_with_the_newest(stage: Stage) -> None:
    now = timezone.now()
    Snapshot.objects.bulk_create(
        Snapshot(campaign=stage.campaign, at=now - timedelta(minutes=m), figures={})
        for m in (*range(100, 50, -1), 10, 0)
    )
    ages = [round((now - one.at).total_seconds() / 60) for one in series(stage.campaign, points=5)]
    # Steps of 20 minutes: from 100 to 81, 80 to 61, 60 to 51, none, and the newest.
    assert ages == [81, 61, 51, 0]
    assert len(series(stage.campaign, points=52)) == 52
    since = now - timedelta(minutes=55)
    assert len(series(stage.campaign, points=99, since=since)) == 7


def test_counting_asks_as_often_for_more_work(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_errors, "GROWN", 0)  # workers are compared each time

    def queries() -> int:
        bring_up_to_date(campaign := Campaign.objects.get())
        with CaptureQueriesContext(connection) as asked:
            made = take(campaign)
        made.delete()
        return len(asked)

    halfway(stage)
    queries()
    few = queries()
    for number in (4, 5):
        stage.work("ada", number)
        stage.work("dan", number)
    stage.advance()
    assert queries() == few
