"""Marks say which HITs a pass has to look at; looking at all of them is the audit of passes."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, ChangedHit, Exclusion, OutboxMessage, PairTally, Triplet
from annotation.pipeline.changes import Changes, mark_hits_of
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.labelling.tallies import bring_up_to_date
from annotation.pipeline.manual.exclusion import exclude, restore
from annotation.pipeline.publishing.lifecycle import pause, resume
from annotation.pipeline.recompute import Differences, audit, recompute
from tests.annotation.pipeline.reconcile.drift import compare, repairs
from tests.worlds.small_campaign import Stage

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


ADA, BOB = "AADA", "ABOB"


def marked(stage: Stage) -> list[int]:
    """Numbers of the HITs that are marked."""
    return sorted(stage.campaign.hits.exclude(changes=None).values_list("number", flat=True))


@pytest.fixture
def judged(stage: Stage) -> Stage:
    """HIT 1 by ada and bob, who agree, HIT 2 by ada alone; no pass has anything left to do."""
    stage.publish()
    for name, number in (("ada", 1), ("bob", 1), ("ada", 2)):
        stage.work(name, number)
    for _ in range(2):
        stage.advance()
    assert marked(stage) == []
    return stage


def assignment(stage: Stage, number: int, **changes: object) -> None:
    first = Assignment.objects.filter(hit__campaign=stage.campaign, hit__number=number).first()
    assert first is not None
    Assignment.objects.filter(pk=first.pk).update(**changes)


def hit(stage: Stage, number: int, **changes: object) -> None:
    stage.campaign.hits.filter(number=number).update(**changes)


NOW = timezone.now()
CHANGES: dict[str, tuple[Callable[[Stage], object], list[int]]] = {
    "a review": (lambda s: assignment(s, 1, passed=False, failure="positive"), [1]),
    "good work refused": (lambda s: assignment(s, 1, status="rejected"), [1]),
    "more assignments": (lambda s: hit(s, 2, max_assignments=F("max_assignments") + 1), [2]),
    "the end": (lambda s: hit(s, 2, closed_at=NOW), [2]),
    "a HIT gone": (lambda s: hit(s, 2, gone=True), [2]),
    "an exclusion": (lambda s: exclude(s.campaign, BOB, reason="careless"), [1]),
    "an expert's word": (lambda s: mark_hits_of([triplet_of(s, 2).pk]), [2]),
    "no other decision": (lambda s: assignment(s, 1, status="approved"), []),
    "no other time": (lambda s: hit(s, 2, expires_at=NOW), []),
    "no other account": (lambda s: assignment(s, 1, account="discarded"), []),
    "no other reserve": (lambda s: hit(s, 2, tie_reserve=0), []),
}


def triplet_of(stage: Stage, number: int) -> Triplet:
    return Triplet.objects.filter(items__hit=stage.hit(number)).order_by("pk")[0]


@pytest.mark.parametrize("what", CHANGES)
def test_what_labels_and_missing_votes_follow_from_marks_its_hits(judged: Stage, what: str) -> None:
    change, hits = CHANGES[what]
    change(judged)
    assert marked(judged) == hits


def test_the_end_of_a_lost_hit_counts_as_long_as_somebody_may_ask_for_it(judged: Stage) -> None:
    hit(judged, 2, gone=True)
    ChangedHit.objects.all().delete()
    hit(judged, 2, expires_at=NOW + timedelta(days=9))
    assert marked(judged) == [2]


def test_whoever_comes_back_brings_all_their_hits(judged: Stage) -> None:
    exclude(judged.campaign, ADA, reason="careless")
    recompute(judged.campaign)
    ChangedHit.objects.all().delete()
    restore(judged.campaign, ADA)
    assert marked(judged) == [1, 2]


def test_work_that_comes_reviewed_is_marked_and_other_work_is_not(judged: Stage) -> None:
    first = Assignment.objects.order_by("pk")[0]
    for crowd_id, passed in (("new", None), ("old", True)):
        first.pk, first.crowd_id, first.passed = None, crowd_id, passed
        first.hit = judged.hit(3 if passed is None else 4)
        first.save()
    assert marked(judged) == [4]


def test_a_pass_without_news_asks_little(judged: Stage) -> None:
    """Whatever the campaign holds: nothing is counted or read of it but the labels by status."""
    with CaptureQueriesContext(connection) as queries:
        recompute(judged.campaign)
    tables = " ".join(query["sql"] for query in queries)
    assert "annotation_judgment" not in tables
    assert "annotation_hititem" not in tables


def test_a_mark_made_while_a_pass_looks_stays(judged: Stage) -> None:
    mark_hits_of([triplet_of(judged, 1).pk])
    changes = Changes(judged.campaign)
    mark_hits_of([triplet_of(judged, 1).pk])
    changes.take_off(but_for=())
    assert marked(judged) == [1]
    assert ChangedHit.objects.count() == 1


def test_what_a_pass_cannot_do_yet_keeps_one_mark(judged: Stage) -> None:
    pause(judged.campaign)
    for _ in range(3):
        exclude(judged.campaign, BOB, reason="careless")
        recompute(judged.campaign)
        restore(judged.campaign, BOB)
        recompute(judged.campaign)
    assert ChangedHit.objects.count() == 1
    exclude(judged.campaign, BOB, reason="careless")
    resume(judged.campaign)
    judged.campaign.refresh_from_db()
    assert recompute(judged.campaign).assignments_requested == 1


def test_the_full_comparison_mends_what_passes_have_overlooked_and_tells(judged: Stage) -> None:
    assert audit(judged.campaign) == Differences(0, 0, 0, 0, 0)
    wrong = triplet_of(judged, 1)
    Triplet.objects.filter(pk=wrong.pk).update(label=1)
    Exclusion.objects.create(
        campaign=judged.campaign,
        worker=judged.campaign.hits.get(number=1).assignments.all()[1].worker,
        failures=1,
        reviewed=1,
    )
    ChangedHit.objects.all().delete()
    assert compare(judged).done == []
    report = compare(judged, full=True)
    wrong.refresh_from_db()
    assert wrong.status == "open"
    assert repairs(report) == {"recomputed": 6}
    assert list(report.done) == [
        "What passes had stored was not what follows from the record: 5 labels, 0 exclusions, "
        "1 assignments to ask for, 0 cents to release and 0 tallies of the votes. "
        "All are right now."
    ]
    assert compare(judged, full=True).done == []


def test_the_full_comparison_mends_tallies_too(judged: Stage) -> None:
    bring_up_to_date(judged.campaign)
    right = list(PairTally.objects.values())
    PairTally.objects.update(shared=9)
    (sentence,) = compare(judged, full=True).done
    assert "and 1 tallies of the votes" in str(sentence)
    assert [row | {"id": None} for row in PairTally.objects.values()] == [
        row | {"id": None} for row in right
    ]


def test_the_full_comparison_leaves_to_the_next_pass_what_it_has_to_do(judged: Stage) -> None:
    judged.work("eve", 2, slips=1)
    fetch_submissions(judged.campaign, judged.mturk.crowd)
    review(judged.campaign)
    before = list(OutboxMessage.objects.order_by("pk").values())
    assert compare(judged, full=True).done == []
    assert list(OutboxMessage.objects.order_by("pk").values()) == before
    assert marked(judged) == [2]
    assert recompute(judged.campaign).assignments_requested == 1


def test_the_full_comparison_of_a_campaign_at_rest_marks_nothing(judged: Stage) -> None:
    pause(judged.campaign)
    compare(judged, full=True)
    assert marked(judged) == []
