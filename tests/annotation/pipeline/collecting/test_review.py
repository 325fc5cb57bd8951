import pytest
from django.db import IntegrityError
from django.db.transaction import atomic

from annotation.analytics.campaign.progress import progress
from annotation.models import Assignment, Exclusion, Judgment
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import Reviewed, given_answers, review
from tests.conftest import SetStage
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


def collect_and_review(stage: Stage) -> Reviewed:
    fetch_submissions(stage.campaign, stage.mturk.crowd)
    return review(stage.campaign)


def statuses(stage: Stage, worker: str) -> list[str]:
    """As the crowd has them, in order of submission."""
    rows = stage.mturk.rows(
        "SELECT status FROM assignments WHERE worker_id = ? ORDER BY submit_number", worker
    )
    return [status for (status,) in rows]


def rejections(stage: Stage) -> list[str]:
    found = Assignment.with_rejection(Assignment.objects.filter(hit__campaign=stage.campaign))
    return [one.rejection for one in found.exclude(rejection="")]


def feedback(stage: Stage, assignment_id: str) -> str:
    query = "SELECT feedback FROM assignments WHERE assignment_id = ?"
    return str(stage.mturk.rows(query, assignment_id)[0][0])


def test_work_that_passes_is_approved_and_its_answers_are_judgments(one_hit: Stage) -> None:
    one_hit.work("ada", 1, lambda query, _: int(query == "bread"))
    assert collect_and_review(one_hit) == Reviewed(passed=1, failed=0, excluded=0)
    one_hit.deliver()
    assert statuses(one_hit, "AADA") == ["Approved"]
    judged = Judgment.objects.exclude(item__triplet=None)
    values = judged.values_list("item__triplet__candidate__query__key", "value")
    assert sorted(values) == [
        ("bread", 1),
        ("candle", 0),
        ("garden", 0),
        ("piano", 0),
        ("rocket", 0),
    ]
    assert Judgment.objects.filter(item__triplet=None).count() == 2


@pytest.mark.parametrize("slips", [1, 2])
def test_a_missed_control_rejects_the_work_and_says_why(one_hit: Stage, slips: int) -> None:
    done = one_hit.work("eve", 1, slips=slips)
    assert collect_and_review(one_hit) == Reviewed(passed=0, failed=1, excluded=0)
    one_hit.deliver()
    assert statuses(one_hit, "AEVE") == ["Rejected"]
    assert f"Check questions answered wrongly: {slips}. " in feedback(one_hit, done)
    assert rejections(one_hit) == ["missed"]


def test_failed_work_is_paid_and_discarded_where_the_policy_says_so(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, on_failed_control="pay_and_discard")
    stage.publish()
    stage.work("eve", 1, slips=1)
    assert stage.advance().assignments_requested == 1
    assert statuses(stage, "AEVE") == ["Approved"]
    found = progress(stage.campaign)
    assert (found["failed_controls"], found["votes"]) == (1, 0)
    assert found["spent_cents"] == stage.mturk.spent_cents == 19
    assert rejections(stage) == ["missed"]


def test_an_item_without_an_answer_fails_the_work(one_hit: Stage) -> None:
    answers = one_hit.sheet(1, 1)
    real = one_hit.hit(1).items.exclude(triplet=None).first()
    assert real is not None
    del answers[f"item-{real.key}"]
    done = submit(one_hit, "bob", answers)
    assert collect_and_review(one_hit) == Reviewed(passed=0, failed=1, excluded=0)
    one_hit.deliver()
    assert feedback(one_hit, done) == "Questions left without an answer: 1."
    assert rejections(one_hit) == ["unanswered"]


def test_a_rejection_cannot_be_stored_without_its_reason(one_hit: Stage) -> None:
    one_hit.work("eve", 1, slips=1)
    collect_and_review(one_hit)
    with pytest.raises(IntegrityError, match="a_rejection_has_its_reason"), atomic():
        one_hit.campaign.outbox.filter(kind="reject").update(reason="")
    for change in ({"failure": ""}, {"passed": True}, {"passed": None}):
        with pytest.raises(IntegrityError, match="a_failure_has_its_reason"), atomic():
            Assignment.objects.update(**change)


def submit(stage: Stage, name: str, answers: dict[str, str]) -> str:
    crowd_id = stage.hit(1).crowd_id
    assert crowd_id
    return stage.mturk.person(name).work(crowd_id, answers)


@pytest.mark.parametrize("garbage", ["", "2", "-1", "yes", " 1", "1|0", "01", "\u0661", "<b>1</b>"])
def test_garbage_is_no_answer(one_hit: Stage, garbage: str) -> None:
    answers = one_hit.sheet(1, 1)
    first = next(iter(answers))
    submit(one_hit, "eve", answers | {first: garbage})
    assert collect_and_review(one_hit) == Reviewed(passed=0, failed=1, excluded=0)
    assert Judgment.objects.count() == 6
    assert not Judgment.objects.filter(item__key=first.removeprefix("item-")).exists()


def test_fields_of_no_item_are_ignored(one_hit: Stage) -> None:
    submit(one_hit, "ada", one_hit.sheet(1) | {"comment": "nice", "item-0000": "1", "item-": "1"})
    assert collect_and_review(one_hit) == Reviewed(passed=1, failed=0, excluded=0)
    assert Judgment.objects.count() == 7


def test_answers_are_read_by_the_item_s_key(one_hit: Stage) -> None:
    items = list(one_hit.hit(1).items.order_by("position"))
    fields = {f"item-{items[0].key}": "1", f"item-{items[1].key}": "0", items[2].key: "1"}
    assert given_answers(fields, [item.key for item in items]) == {items[0].key: 1, items[1].key: 0}


def test_work_is_reviewed_once(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    assert collect_and_review(one_hit).passed == 1
    assert collect_and_review(one_hit) == Reviewed(passed=0, failed=0, excluded=0)
    assert len(one_hit.outbox("approve")) == 1


def test_what_the_crowd_has_approved_by_itself_is_a_failure_all_the_same(
    set_stage: SetStage,
) -> None:
    stage = set_stage(candidates_per_query=1, min_assignments=1)
    stage.publish()
    stage.mturk.crowd.approve(stage.work("eve", 1, slips=1))
    passed = stage.advance()
    assert (passed.failed, passed.excluded, passed.assignments_requested) == (1, 1, 1)
    assert stage.outbox("reject") == []
    assert statuses(stage, "AEVE") == ["Approved"]
    assert progress(stage.campaign)["spent_cents"] == stage.mturk.spent_cents == 19


def test_decisions_follow_the_order_of_submission_across_batches(
    set_stage: SetStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure and then a success: 100 % at the first review, no more than 50 % at the second."""
    monkeypatch.setattr("annotation.pipeline.collecting.review.BATCH", 3)
    stage = set_stage(min_assignments=1, max_failure_rate=0.5)
    stage.publish()
    stage.work("eve", 5, slips=1)
    stage.work("eve", 1)
    stage.work("bob", 4)
    stage.work("bob", 2, slips=1)
    collect_and_review(stage)
    excluded = Exclusion.objects.values_list("worker__worker_id", "failures", "reviewed")
    assert list(excluded) == [("AEVE", 1, 1)]
    decisions = stage.campaign.outbox.exclude(assignment=None).order_by("pk")
    assert list(decisions.values_list("assignment__hit__number", "kind")) == [
        (5, "reject"),
        (1, "approve"),
        (4, "approve"),
        (2, "reject"),
    ]


def test_a_worker_at_the_allowed_rate_stays(set_stage: SetStage) -> None:
    stage = set_stage(max_failure_rate=0.2)
    stage.publish()
    for number in range(1, 5):
        stage.work("bob", number)
    stage.work("bob", 5, slips=1)
    assert collect_and_review(stage) == Reviewed(passed=4, failed=1, excluded=0)


def test_the_rate_counts_this_campaign_alone(set_stage: SetStage) -> None:
    first, second = set_stage("first"), set_stage("second")
    for stage in (first, second):
        stage.publish()
        for number in (1, 2):
            stage.work("bob", number, slips=1)
        assert collect_and_review(stage).excluded == 0


def test_an_excluded_worker_is_paid_for_what_passes_but_it_counts_for_nothing(
    stage: Stage,
) -> None:
    """The last HIT was submitted before the exclusion, and passes."""
    stage.publish()
    for number in (1, 2, 3):
        stage.work("eve", number, slips=number % 2)
    stage.work("eve", 4, 1)
    done = stage.advance()
    assert (done.passed, done.failed, done.excluded) == (2, 2, 1)
    assert statuses(stage, "AEVE") == ["Rejected", "Approved", "Rejected", "Approved"]
    found = progress(stage.campaign)
    assert (found["votes"], found["votes_discarded"]) == (0, 10)
    assert found["spent_cents"] == stage.mturk.spent_cents == 38


def test_an_excluded_worker_is_excluded_at_the_crowd(stage: Stage) -> None:
    stage.publish()
    for number in (1, 2, 3):
        stage.work("eve", number, slips=1)
    unfinished = stage.accept("eve", 4)
    assert unfinished
    stage.advance()
    assert stage.accept("eve", 5) is None
    assert stage.accept("bob", 5) is not None
    stage.mturk.person("eve").submit(unfinished, stage.sheet(4))
    later = stage.advance()
    assert (later.passed, later.excluded) == (1, 0)
    assert progress(stage.campaign)["votes"] == 0
    assert Exclusion.objects.count() == 1


def test_an_exclusion_is_never_undone(stage: Stage) -> None:
    """The figures stay those of the review that crossed the line."""
    stage.publish()
    for number in (1, 2, 3):
        stage.work("eve", number, slips=number == 1)
    begun = [stage.accept("eve", number) for number in (4, 5)]
    stage.advance()
    for number, assignment_id in zip((4, 5), begun, strict=True):
        assert assignment_id
        stage.mturk.person("eve").submit(assignment_id, stage.sheet(number))
    stage.advance()
    exclusion = Exclusion.objects.get()
    assert (exclusion.failures, exclusion.reviewed) == (1, 3)
    assert str(exclusion) == "AEVE failed 1 of 3"
