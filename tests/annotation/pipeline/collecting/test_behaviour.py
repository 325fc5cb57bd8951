"""How work was done and what is wrong with items: kept by the review, beside the judgments."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from annotation.analytics.campaign.progress import progress
from annotation.models import Assignment, Behaviour, ItemReport, Judgment, Worker
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.recompute import recompute
from annotation.protocol.screening.behaviour import REASONS
from tests.conftest import SetStage
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

SECONDS = 90


def keys(stage: Stage) -> list[str]:
    return list(stage.hit(1).items.order_by("position").values_list("key", flat=True))


def submit(stage: Stage, name: str, more: dict[str, str], *, slips: int = 0) -> str:
    """The HIT's form with more fields, after 90 seconds."""
    assignment_id = stage.accept(name, 1)
    assert assignment_id
    stage.mturk.clock.move_on(seconds=SECONDS)
    stage.mturk.person(name).submit(assignment_id, stage.sheet(1, slips=slips) | more)
    return assignment_id


def collect_and_review(stage: Stage) -> None:
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    review(stage.campaign)


def behaviour(active_ms: object, items: dict[str, Any]) -> dict[str, str]:
    return {"behaviour": json.dumps({"v": 1, "active_ms": active_ms, "items": items, "order": []})}


def test_what_a_browser_told_is_kept_with_the_work(one_hit: Stage) -> None:
    first, second, *_ = keys(one_hit)
    items = {first: {"ms": 9000, "changes": 1}, second: {"ms": 1000, "changes": 0}}
    done = submit(one_hit, "ada", behaviour(41_000, items))
    collect_and_review(one_hit)
    found = Behaviour.objects.get()
    assert found.assignment.crowd_id == done
    assert (found.active_ms, found.changes, found.straight) == (41_000, 1, False)
    assert found.item_ms == {first: 9000, second: 1000}


def test_nobody_worked_for_longer_than_they_had_the_hit(one_hit: Stage) -> None:
    submit(one_hit, "eve", behaviour(10**12, {}))
    collect_and_review(one_hit)
    ms = Behaviour.objects.get().active_ms
    assert ms is not None
    assert SECONDS * 1000 <= ms < (SECONDS + 30) * 1000


def test_work_without_behaviour_is_observed_all_the_same(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    collect_and_review(one_hit)
    found = Behaviour.objects.get()
    assert (found.active_ms, found.item_ms, found.changes) == (None, {}, 0)


@pytest.mark.parametrize("value", ["0", "1"])
def test_one_answer_throughout_is_kept_and_fails_by_the_controls(
    one_hit: Stage, value: str
) -> None:
    submit(one_hit, "eve", {f"item-{key}": value for key in keys(one_hit)})
    collect_and_review(one_hit)
    assert Behaviour.objects.get().straight
    assert Assignment.objects.get().passed is False


def test_reports_are_kept_with_their_items(one_hit: Stage) -> None:
    first, second, third, *_ = keys(one_hit)
    report = {
        f"report-{first}": "offensive",
        f"report-{second}": "no such reason",
        f"report-text-{second}": "two\twords <b>",
        f"report-{third}": "no such reason",
        "report-elsewhere": "unclear",
    }
    submit(one_hit, "ada", {**report, f"report-text-{first}": ""})
    collect_and_review(one_hit)
    rows = ItemReport.objects.order_by("item__position").values_list("item__key", "reason", "text")
    assert list(rows) == [(first, "offensive", ""), (second, "other", "two words <b>")]
    assert Assignment.objects.get().passed is True


@pytest.mark.parametrize(
    "text",
    [
        "[" * 30_000,
        '{"v": 1, "active_ms": NaN}',
        '{"v": 1, "active_ms": ' + "9" * 5000 + "}",
        '{"v": 1, "items": {"\\ud800": {"ms": 1}}, "active_ms": -1}',
        "x" * 60_000,
    ],
)
def test_hostile_behaviour_changes_nothing_of_the_verdict(one_hit: Stage, text: str) -> None:
    submit(one_hit, "eve", {"behaviour": text})
    collect_and_review(one_hit)
    found = Behaviour.objects.get()
    assert (found.active_ms, found.item_ms, found.changes) == (None, {}, 0)
    assert Assignment.objects.get().passed is True
    assert Judgment.objects.count() == 7


def test_a_work_is_observed_once_however_often_the_steps_run(one_hit: Stage) -> None:
    (first, *_) = keys(one_hit)
    submit(one_hit, "ada", behaviour(5000, {}) | {f"report-{first}": "unclear"})
    for _ in range(3):
        one_hit.advance()
        recompute(one_hit.campaign)
    assert (Behaviour.objects.count(), ItemReport.objects.count()) == (1, 1)


def test_a_review_that_breaks_off_leaves_no_observation(one_hit: Stage) -> None:
    """When all is written, the exclusions cannot be read."""
    (first, *_) = keys(one_hit)
    submit(one_hit, "ada", {f"report-{first}": "unclear"})
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)

    def break_down(
        execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any
    ) -> Any:
        if "annotation_exclusion" in sql:
            raise DatabaseError("gone")
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(break_down), pytest.raises(DatabaseError, match="gone"):
        review(one_hit.campaign)
    assert Assignment.objects.get().passed is None
    assert (Judgment.objects.count(), Behaviour.objects.count()) == (0, 0)
    assert review(one_hit.campaign).passed == 1
    assert (Behaviour.objects.count(), ItemReport.objects.count()) == (1, 1)


def test_many_works_cost_no_more_queries_than_few(one_hit: Stage) -> None:
    submit(one_hit, "ada", behaviour(5000, {}) | {f"report-{keys(one_hit)[0]}": "unclear"})
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    first = Assignment.objects.get()
    with CaptureQueriesContext(connection) as few:
        review(one_hit.campaign)
    people = Worker.objects.bulk_create(
        Worker(crowd="mturk", worker_id=f"A{number}") for number in range(50)
    )
    Assignment.objects.bulk_create(
        Assignment(
            hit=first.hit,
            worker=worker,
            crowd_id=worker.worker_id,
            accepted_at=first.accepted_at,
            submitted_at=first.submitted_at,
            answers=first.answers,
        )
        for worker in people
    )
    with CaptureQueriesContext(connection) as many:
        review(one_hit.campaign)
    assert len(many) == len(few)
    assert set(Behaviour.objects.values_list("active_ms", flat=True)) == {5000}
    assert (Behaviour.objects.count(), ItemReport.objects.count()) == (51, 51)


def test_the_record_has_every_reason_that_is_read_and_no_other() -> None:
    assert set(ItemReport.Reason.values) == set(REASONS)


def crowd_s_word(stage: Stage, assignment_id: str) -> tuple[str, str | None]:
    query = "SELECT status, feedback FROM assignments WHERE assignment_id = ?"
    ((status, feedback),) = stage.mturk.rows(query, assignment_id)
    return status, feedback


def test_paid_and_discarded_work_is_approved_and_nobody_speaks_of_rejection(
    set_stage: SetStage,
) -> None:
    stage = set_stage(candidates_per_query=1, on_failed_control="pay_and_discard")
    stage.publish()
    done = submit(stage, "eve", {}, slips=2)
    stage.work("ada", 1)
    assert stage.advance().assignments_requested == 1
    status, feedback = crowd_s_word(stage, done)
    assert status == "Approved"
    assert not feedback
    assert stage.outbox("reject") == []
    assert not [one for one in stage.campaign.outbox.all() if "reject" in one.reason.lower()]
    work = Assignment.objects.get(crowd_id=done)
    assert (work.status, work.passed, work.account) == ("approved", False, "discarded")
    found = progress(stage.campaign)
    assert (found["votes"], found["failed_controls"], found["rejected"]) == (5, 1, 0)
    assert (found["paid_cents"], found["discarded_cents"]) == (19, 19)


def test_under_pay_and_discard_an_excluded_worker_s_failures_are_paid_too(
    set_stage: SetStage,
) -> None:
    """The fourth HIT was begun before the exclusion, and fails as the others did."""
    stage = set_stage(on_failed_control="pay_and_discard")
    stage.publish()
    begun = stage.accept("eve", 4)
    assert begun
    for number in (1, 2, 3):
        stage.work("eve", number, slips=1)
    assert stage.advance().excluded == 1
    stage.mturk.person("eve").submit(begun, stage.sheet(4, slips=1))
    stage.advance()
    statuses = stage.mturk.rows("SELECT DISTINCT status FROM assignments")
    assert statuses == [("Approved",)]
    found = progress(stage.campaign)
    assert (found["paid_cents"], found["discarded_cents"]) == (0, 4 * 19)
    assert stage.mturk.spent_cents == 4 * 19


@pytest.mark.parametrize(
    ("contact", "expected"),
    [
        ("", None),
        ("judging@example.org", "If you think this is a mistake, write to judging@example.org."),
        ("Ask at desk 3.", "If you think this is a mistake: Ask at desk 3."),
    ],
)
def test_who_is_rejected_reads_whom_to_write_to(
    one_hit: Stage, settings: Settings, contact: str, expected: str | None
) -> None:
    settings.CONTACT = contact
    done = submit(one_hit, "eve", {}, slips=1)
    one_hit.advance()
    status, feedback = crowd_s_word(one_hit, done)
    assert status == "Rejected"
    assert feedback is not None
    why, _, whom = feedback.partition("Their answers follow from the instructions.")
    assert why == "Check questions answered wrongly: 1. "
    assert whom.strip() == (expected or "")
