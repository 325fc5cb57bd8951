from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from annotation.analytics.campaign.progress import progress
from annotation.models import Assignment, OutboxMessage, Triplet, assignment
from annotation.pipeline.changes import mark_hits_of
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.labelling.votes import first_pairs, tallies, valid_judgments
from annotation.pipeline.recompute import recompute
from annotation.protocol.labels import valid_votes as rule
from annotation.protocol.labels.valid_votes import NEEDS, VoidReason
from annotation.protocol.screening.control import RejectionReason
from tests.conftest import SetStage
from tests.worlds.small_campaign import QUERIES, Judge, Stage

pytestmark = pytest.mark.django_db


def yes_to(*queries: str) -> Judge:
    return lambda query, _: int(query in queries)


def max_assignments(stage: Stage) -> dict[int, int]:
    """HIT's number -> its assignments at the crowd, which are ours too."""
    at_crowd = dict(stage.mturk.rows("SELECT hit_id, max_assignments FROM hits"))
    assert at_crowd == dict(stage.campaign.hits.values_list("crowd_id", "max_assignments"))
    return dict(stage.campaign.hits.values_list("number", "max_assignments"))


def status(stage: Stage, query: str) -> tuple[str, int | None, int, int]:
    row = stage.campaign.triplets.get(candidate__query__key=query)
    return row.status, row.label, row.votes, row.positive_votes


def test_two_who_agree_make_the_label(one_hit: Stage) -> None:
    one_hit.work("ada", 1, yes_to("bread"))
    one_hit.work("bob", 1, yes_to("bread"))
    done = one_hit.advance()
    assert (done.labelled, done.assignments_requested, done.finished) == (5, 0, True)
    assert status(one_hit, "bread") == ("labelled", 1, 2, 2)
    assert status(one_hit, "piano") == ("labelled", 0, 2, 0)
    assert max_assignments(one_hit) == {1: 2}


def test_one_vote_makes_no_label(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 1)
    done = one_hit.advance()
    assert (done.labelled, done.open, done.assignments_requested) == (0, 5, 0)
    assert status(one_hit, "bread") == ("open", None, 1, 1)


def test_two_who_disagree_open_one_place(one_hit: Stage) -> None:
    one_hit.work("ada", 1, yes_to("bread", "piano"))
    one_hit.work("bob", 1, yes_to("bread"))
    done = one_hit.advance()
    assert (done.labelled, done.open, done.assignments_requested) == (4, 1, 1)
    assert status(one_hit, "piano") == ("open", None, 2, 1)
    assert max_assignments(one_hit) == {1: 3}


def test_the_third_vote_decides_and_counts_where_two_agreed(one_hit: Stage) -> None:
    one_hit.work("ada", 1, yes_to("bread", "piano"))
    one_hit.work("bob", 1, yes_to("bread"))
    one_hit.advance()
    one_hit.work("cara", 1, yes_to("piano"))
    assert one_hit.advance().finished
    assert status(one_hit, "piano") == ("labelled", 1, 3, 2)
    assert status(one_hit, "bread") == ("labelled", 1, 3, 2)
    assert status(one_hit, "rocket") == ("labelled", 0, 3, 0)
    assert max_assignments(one_hit) == {1: 3}


def test_several_ties_of_one_hit_share_the_place(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 1)
    one_hit.work("bob", 1, 0)
    done = one_hit.advance()
    assert (done.open, done.assignments_requested) == (5, 1)


def test_rejected_work_opens_its_place_again(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.work("eve", 1, slips=1)
    assert one_hit.advance().assignments_requested == 1
    one_hit.work("bob", 1)
    assert one_hit.advance().finished
    assert max_assignments(one_hit) == {1: 3}


def test_a_place_that_is_still_open_is_not_bought_twice(one_hit: Stage) -> None:
    """One of two is rejected while the other is at work."""
    one_hit.work("eve", 1, slips=1)
    assert one_hit.accept("ada", 1)
    assert one_hit.advance().assignments_requested == 1
    assert one_hit.advance().assignments_requested == 0
    assert max_assignments(one_hit) == {1: 3}


def test_submitted_work_not_yet_reviewed_fills_its_place(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    review(one_hit.campaign)
    first = Assignment.objects.get()
    one_hit.work("bob", 1)
    fetch_submissions(one_hit.campaign, one_hit.mturk.crowd)
    found = recompute(one_hit.campaign, until=first.submitted_at)
    assert (found.passed, found.open, found.assignments_requested) == (0, 5, 0)


def test_an_exclusion_opens_exactly_the_votes_it_takes(stage: Stage) -> None:
    """Eve's first HIT has three votes without hers, her second one, her third none."""
    stage.publish()
    stage.work("ada", 1, 1)
    stage.work("bob", 1, 0)
    assert stage.advance().assignments_requested == 1
    stage.work("eve", 1, 1)
    stage.work("ada", 2, 1)
    stage.work("eve", 2, 0)
    assert stage.advance().excluded == 0
    assert max_assignments(stage) == {1: 3, 2: 3, 3: 2, 4: 2, 5: 2}
    stage.work("cara", 2, 1)
    stage.work("eve", 3, slips=1)
    stage.advance()
    assert stage.campaign.exclusions.count() == 1
    # HIT 1 lost its third vote; HIT 2 keeps two that agree; HIT 3 has one of two assignments left.
    assert max_assignments(stage) == {1: 4, 2: 3, 3: 3, 4: 2, 5: 2}
    assert all(stage.labels()[triplet] == 1 for triplet in stage.triplets(2))
    assert all(stage.labels()[triplet] == "open" for triplet in stage.triplets(1))
    assert progress(stage.campaign)["votes_discarded"] == 10


def test_labels_change_when_a_worker_s_votes_are_discarded(stage: Stage) -> None:
    stage.publish()
    stage.work("eve", 1, 1)
    stage.work("bob", 1, 1)
    assert stage.advance().labelled == 5
    for number in (2, 3):
        stage.work("eve", number, slips=1)
    assert stage.advance().labelled == 0
    assert {stage.labels()[triplet] for triplet in stage.triplets(1)} == {"open"}
    for name in ("ada", "dan"):  # the place for the third is opened by their disagreement
        stage.work(name, 1, 0)
        stage.advance()
    assert {stage.labels()[triplet] for triplet in stage.triplets(1)} == {0}


def test_a_tie_at_max_votes_stays_unresolved(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, annotators=4, max_votes=4)
    stage.publish()
    for name, judge in (("ada", 1), ("bob", 0), ("cara", 0), ("dan", yes_to("bread"))):
        stage.work(name, 1, judge)
    stage.advance()
    assert status(stage, "bread") == ("unresolved", None, 4, 2)
    assert status(stage, "piano") == ("labelled", 0, 4, 1)
    assert stage.advance().finished
    assert max_assignments(stage) == {1: 4}


def test_the_triplets_of_a_hit_that_cannot_grow_go_into_another_one(one_hit: Stage) -> None:
    """Nine workers fail: MTurk lets no HIT of fewer than ten assignments grow to ten."""
    for number in range(9):
        one_hit.work(f"eve{number}", 1, slips=1)
        done = one_hit.advance()
    assert max_assignments(one_hit) == {1: 9, 2: 1}
    assert (done.open, done.labelled, done.assignments_requested) == (5, 0, 1)
    assert one_hit.hit(2).repack
    assert len(one_hit.hit(2).excluded_workers) == 9


def test_only_what_lacks_votes_leaves_a_full_hit(set_stage: SetStage) -> None:
    """Four to four on one triplet, eight to none on the others, and a ninth who failed."""
    stage = set_stage(candidates_per_query=1, annotators=8, max_votes=9)
    stage.publish()
    stage.work("eve", 1, slips=1)
    stage.advance()
    for number in range(8):
        stage.work(f"bob{number}", 1, yes_to("bread") if number % 2 else 0)
    stage.advance()
    assert max_assignments(stage) == {1: 9, 2: 1}
    assert status(stage, "bread") == ("open", None, 8, 4)
    assert stage.labels() == {(query, 1): 0 for query in QUERIES} | {("bread", 1): "open"}
    assert stage.triplets(2) == [("bread", 1)]


def test_a_hit_of_ten_places_may_grow(set_stage: SetStage) -> None:
    stage = set_stage(candidates_per_query=1, annotators=10, max_votes=10)
    stage.publish()
    for number in range(9):
        stage.work(f"ada{number}", 1)
    stage.work("eve", 1, slips=1)
    assert stage.advance().assignments_requested == 1
    assert max_assignments(stage) == {1: 11}


def test_hits_that_are_not_published_are_not_extended(stage: Stage) -> None:
    found = recompute(stage.campaign)
    assert (found.labelled, found.open, found.assignments_requested) == (0, 25, 0)
    assert not OutboxMessage.objects.exists()


def test_labelling_again_changes_nothing(stage: Stage) -> None:
    stage.publish()
    stage.work("ada", 1, 1)
    stage.work("bob", 1, 0)
    first = stage.advance()
    before = list(Triplet.objects.order_by("pk").values())
    messages = OutboxMessage.objects.count()
    mark_hits_of(stage.campaign.triplets.all())
    second = recompute(stage.campaign)
    assert (second.labelled, second.open, second.assignments_requested) == (
        first.labelled,
        first.open,
        0,
    )
    assert list(Triplet.objects.order_by("pk").values()) == before
    assert OutboxMessage.objects.count() == messages


def test_votes_stand_in_order_of_submission(one_hit: Stage) -> None:
    one_hit.work("ada", 1, 0)
    one_hit.work("bob", 1, 1)
    one_hit.advance()
    assert first_pairs(one_hit.campaign).sum(axis=0).tolist() == [0, 5, 0, 0]
    first, second = one_hit.campaign.hits.get().assignments.order_by("submitted_at")
    first.submitted_at, second.submitted_at = second.submitted_at, first.submitted_at
    first.save()
    second.save()
    assert first_pairs(one_hit.campaign).sum(axis=0).tolist() == [0, 0, 5, 0]


def test_a_pass_tells_what_it_counted(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    quiet = replace(one_hit.advance(), new=0, passed=0, sent=0)
    assert one_hit.advance() == quiet


def test_work_that_somebody_rejected_at_the_crowd_has_no_vote(one_hit: Stage) -> None:
    one_hit.publish()
    refused = one_hit.work("ada", 1, 1)
    one_hit.mturk.crowd.reject(refused, reason="by hand", why=RejectionReason.MANUAL)
    one_hit.work("bob", 1, 1)
    assert one_hit.advance().assignments_requested == 1
    assert {(one.votes, one.positive) for one in tallies(one_hit.campaign)} == {(1, 1)}


@pytest.mark.parametrize("hasty", [False, True])
def test_the_database_counts_the_work_that_the_rule_does(
    one_hit: Stage, monkeypatch: pytest.MonkeyPatch, *, hasty: bool
) -> None:
    if hasty:  # a rule that somebody puts in the place of another
        needs = {**NEEDS, VoidReason.FAILED: ("took", "gte", timedelta(seconds=5))}
        for module in (rule, assignment):
            monkeypatch.setattr(module, "NEEDS", needs)
    one_hit.work("ada", 1, 1)
    one_hit.advance()
    work = Assignment.objects.get()
    counted = set()
    for passed, status, seconds in product((True, False, None), ("approved", "rejected"), (4, 5)):
        end = work.accepted_at + timedelta(seconds=seconds)
        failure = "missed" if passed is False else ""
        Assignment.objects.update(passed=passed, failure=failure, status=status, submitted_at=end)
        work.refresh_from_db()
        counts = rule.void_reason(work.facts(())) is None
        assert Assignment.valid(Assignment.objects.all(), one_hit.campaign).exists() == counts
        assert valid_judgments(one_hit.campaign).exists() == counts
        counted |= {(passed, seconds)} if counts else set()
    assert counted == ({(True, 5), (False, 5)} if hasty else {(True, 4), (True, 5)})
