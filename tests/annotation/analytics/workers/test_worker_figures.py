"""Workers' figures are made after a pass, and are those worked out by hand."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from annotation.access.audit_log import by_command, record
from annotation.analytics.workers import worker_figures
from annotation.analytics.workers.effort import people_of
from annotation.models import (
    Assignment,
    Campaign,
    Exclusion,
    Judgment,
    OutboxMessage,
    Worker,
    WorkerFigures,
    Workforce,
)
from annotation.pipeline.labelling.label import write_labels
from annotation.protocol.screening.peer_agreement import Agreement
from tests.annotation.support.annotators import Annotators, make_annotators
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotators() -> Annotators:
    return make_annotators()


def judge(annotators: Annotators, assignment: Assignment, value: int) -> None:
    """The one triplet of the campaign's HITs."""
    item = assignment.hit.items.get(triplet__isnull=False)
    Judgment.objects.create(
        assignment=assignment,
        item=item,
        triplet_id=item.triplet_id,
        worker=assignment.worker,
        value=value,
    )


def vote(annotators: Annotators, number: int, votes: dict[str, int], **work: object) -> None:
    for name, value in votes.items():
        judge(annotators, annotators.work(name, number, 60, **work), value)  # type: ignore[arg-type]


def shares(annotators: Annotators) -> dict[str, tuple[int, int]]:
    write_labels(annotators.campaign)
    names = dict(Worker.objects.values_list("pk", "worker_id"))
    found = agreements_of(annotators.campaign)
    return {names[pk]: (one.agreeing, one.compared) for pk, one in found.items()}


def agreements_of(campaign: Campaign) -> dict[int, Agreement]:
    return {one.pk: one.agreement for one in people_of(campaign)}


def test_each_vote_is_held_against_all_others(annotators: Annotators) -> None:
    """A column a HIT:

            1  2  3  4
      ada   1  0  1  1
      bob   1  0
      eve   0     0

    Ada and bob each stand against a split pair in HIT 1. Ada has bob's 0 on her side in HIT 2 and
    eve's against her in HIT 3: 1 of 2. Bob has ada's in HIT 2: 1 of 1. Eve has both against her in
    HIT 1 and ada in HIT 3: 0 of 2.
    """
    vote(annotators, 1, {"ada": 1, "bob": 1, "eve": 0})
    vote(annotators, 2, {"ada": 0, "bob": 0})
    vote(annotators, 3, {"ada": 1, "eve": 0})
    vote(annotators, 4, {"ada": 1})
    assert shares(annotators) == {"ada": (1, 2), "bob": (1, 1), "eve": (0, 2)}


def test_votes_of_work_that_failed_or_was_refused_are_nobody_s_measure(
    annotators: Annotators,
) -> None:
    vote(annotators, 1, {"ada": 1})
    vote(annotators, 1, {"eve": 0}, passed=False, status="rejected")
    vote(annotators, 1, {"bob": 0}, status="rejected")
    assert shares(annotators) == dict.fromkeys(("ada", "bob", "eve"), (0, 0))


def test_the_excluded_are_measured_by_the_others_and_measure_nobody(annotators: Annotators) -> None:
    vote(annotators, 1, {"ada": 1, "bob": 1, "eve": 0})
    eve = Worker.objects.get(worker_id="eve")
    Exclusion.objects.create(campaign=annotators.campaign, worker=eve, failures=1, reviewed=1)
    assert shares(annotators) == {"ada": (1, 1), "bob": (1, 1), "eve": (0, 1)}


def test_a_row_holds_what_the_page_shows(annotators: Annotators) -> None:
    """Ada: 1 of 4 failed, at 60 s for 15 cents: $9.00 an hour in the three that were paid."""
    for number in (1, 2, 3):
        annotators.work("ada", number, 60, changes=2)
    annotators.report(annotators.work("ada", 4, status="rejected", passed=False, straight=True), 0)
    worker_figures.take(annotators.campaign)
    row = WorkerFigures.objects.get()
    assert (row.submitted, row.reviewed, row.failed, row.failure_rate) == (4, 4, 1, 0.25)
    assert (row.timed, row.median_ms, row.hourly_cents) == (3, 60_000, 900)
    assert (row.with_behaviour, row.straight, row.straight_share) == (4, 1, 0.25)
    assert (row.changes_per_hit, row.reports, row.agreement, row.compared) == (2, 1, None, 0)
    assert (row.near, row.fast, row.one_answer) == (True, False, True)


def test_a_wage_that_no_column_holds_is_the_highest_that_one_does(annotators: Annotators) -> None:
    """A browser said 1 ms, and the worker got a bonus of $10: $36.5 million an hour."""
    work = annotators.work("ada", 1, 0.001)
    OutboxMessage.objects.create(
        campaign=annotators.campaign,
        kind=OutboxMessage.Kind.BONUS,
        state=OutboxMessage.State.DONE,
        token="bonus",
        assignment=work,
        worker=work.worker,
        cents=1000,
    )
    made = worker_figures.take(annotators.campaign)
    assert made.figures["hourly_cents_pooled"] == 1015 * 3_600_000
    assert WorkerFigures.objects.get().hourly_cents == 2**31 - 1


def test_all_together_has_the_effort_and_the_bars(annotators: Annotators) -> None:
    for number, seconds in enumerate((10, 20, 30), start=1):
        annotators.work("ada", number, seconds)
    done = annotators.work("bob", 1)
    annotators.report(done, 1)
    made = worker_figures.take(annotators.campaign)
    seen = made.figures
    assert (seen["workers"], seen["submitted"], seen["timed"]) == (2, 4, 3)
    assert seen["median_ms"] == 20_000
    assert (seen["step_s"], sum(seen["counts"])) == (2, 3)
    assert seen["reported"] == [done.hit.items.get(position=1).pk]


def test_taking_again_replaces_and_adds(annotators: Annotators) -> None:
    annotators.work("ada", 1, 60)
    worker_figures.take(annotators.campaign)
    annotators.work("ada", 2, 60)
    annotators.work("bob", 1, 60)
    worker_figures.take(annotators.campaign)
    rows = WorkerFigures.objects.order_by("worker__worker_id")
    assert list(rows.values_list("worker__worker_id", "submitted")) == [("ada", 2), ("bob", 1)]
    assert Workforce.objects.count() == 1


def test_they_are_old_after_a_minute_or_once_somebody_has_acted(annotators: Annotators) -> None:
    assert worker_figures.is_old(annotators.campaign, None)
    made = worker_figures.take(annotators.campaign)
    assert not worker_figures.is_old(annotators.campaign, made)
    Workforce.objects.update(at=timezone.now() - timedelta(seconds=61))
    assert worker_figures.is_old(annotators.campaign, worker_figures.newest(annotators.campaign))
    made = worker_figures.take(annotators.campaign)
    record(by_command(), "exclude", campaign=annotators.campaign)
    assert worker_figures.is_old(annotators.campaign, made)


def _votes(share: int, query: str, rank: int) -> int:
    return (len(query) + rank) % share % 2


def test_the_agreement_of_a_whole_campaign_is_what_counting_votes_says(stage: Stage) -> None:
    """The oracle goes through lists of votes, worker by worker."""
    stage.publish()
    for number in (1, 2, 3):
        for name, share in (("ada", 2), ("bob", 3), ("cleo", 5)):
            if (number + share) % 4:
                stage.work(name, number, partial(_votes, share))
        stage.advance()
    stage.advance()
    votes = list(
        Judgment.objects.filter(triplet__isnull=False, assignment__passed=True).values_list(
            "worker_id", "triplet_id", "value"
        )
    )
    expected = {}
    for worker in {worker for worker, _, _ in votes}:
        agreeing = compared = 0
        for _, triplet, value in (one for one in votes if one[0] == worker):
            others = [v for w, t, v in votes if t == triplet and w != worker]
            if others.count(0) != others.count(1):
                compared += 1
                agreeing += value == (others.count(1) > others.count(0))
        expected[worker] = Agreement(agreeing, compared)
    assert len(expected) >= 2
    assert agreements_of(stage.campaign) == expected
