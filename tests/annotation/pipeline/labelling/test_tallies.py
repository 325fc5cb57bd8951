"""Tallies of the votes: made again around what has changed, they are as if all was counted."""

from collections import Counter, defaultdict
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import (
    Assignment,
    AssignmentTally,
    Behaviour,
    ChangedHit,
    ControlTally,
    EffortTally,
    Exclusion,
    HitItem,
    Judgment,
    MeetingTally,
    OutboxMessage,
    PairTally,
    TripletTally,
    UntalliedHit,
)
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.labelling import tallies
from annotation.pipeline.labelling.tallies import bring_up_to_date, count_all_again, tallies_of
from annotation.pipeline.manual.exclusion import exclude
from annotation.pipeline.publishing.lifecycle import pause
from annotation.pipeline.recompute import recompute
from tests.worlds.small_campaign import Stage

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


@pytest.fixture
def judged(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """HITs 1 and 2 by ada and bob, who disagree; their tallies are made, and never all again."""
    monkeypatch.setattr(tallies, "is_most", lambda *_: False)
    stage.publish()
    for number in (1, 2):
        for name, vote in (("ada", 0), ("bob", 1)):
            stage.work(name, number, vote)
    for _ in range(2):  # the first one asks for more votes
        stage.advance()
    bring_up_to_date(stage.campaign)
    return stage


def pairs(stage: Stage) -> list[tuple[int, str, str, int]]:
    """HIT, workers, triplets that both judged."""
    columns = "hit__number", "first__worker_id", "second__worker_id", "shared"
    rows = tallies_of(stage.campaign, PairTally).values_list(*columns)
    return sorted((hit, *sorted([one, other]), shared) for hit, one, other, shared in rows)


def test_what_nobody_has_changed_is_not_counted_again(judged: Stage) -> None:
    before = set(AssignmentTally.objects.values_list("pk", "assignment__hit__number"))
    judged.work("cara", 2)
    judged.advance()
    assert len(pairs(judged)) == 4
    after = set(AssignmentTally.objects.values_list("pk", "assignment__hit__number"))
    assert {number for _, number in before & after} == {1}


def answers(stage: Stage) -> set[tuple[int, ...]]:
    """Control, answers, of them yes, and workers: of those who are not excluded."""
    excluded = Exclusion.in_force(stage.campaign).values("worker")
    rows = Judgment.objects.filter(triplet=None).exclude(worker__in=excluded)
    by_control: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for control, worker, value in rows.values_list("item__control", "worker", "value"):
        by_control[control].append((worker, value))
    return {
        (control, len(given), sum(value for _, value in given), len({one for one, _ in given}))
        for control, given in by_control.items()
    }


def test_controls_that_nobody_has_answered_since_are_not_counted_again(judged: Stage) -> None:
    def tallied() -> set[tuple[int, ...]]:
        columns = "control", "answered", "yes", "workers"
        return set(tallies_of(judged.campaign, ControlTally).values_list(*columns))

    before = dict(ControlTally.objects.values_list("control", "pk"))
    judged.work("cara", 2)
    judged.advance()
    assert tallied() == answers(judged)
    after = dict(ControlTally.objects.values_list("control", "pk"))
    again = HitItem.objects.filter(hit__number=2, control__isnull=False)
    changed = {control for control, pk in before.items() if pk != after[control]}
    assert changed == set(again.values_list("control", flat=True))
    exclude(judged.campaign, "ABOB", reason="careless")
    assert tallied() == answers(judged)


def met(stage: Stage) -> list[tuple[str, int]]:
    """Whose assignments are counted, then those who met controls, each as often."""
    kinds: tuple[type[EffortTally | MeetingTally], ...] = EffortTally, MeetingTally
    names = [
        tallies_of(stage.campaign, kind).values_list("worker__worker_id", flat=True)
        for kind in kinds
    ]
    return [pair for each in names for pair in sorted(Counter(each).items())]


def test_work_counts_as_done_and_its_controls_as_met_before_any_pass_reviews_it(
    judged: Stage,
) -> None:
    assert met(judged) == [("AADA", 2), ("ABOB", 2)] * 2
    judged.work("cara", 2)
    fetch_submissions(judged.campaign, judged.mturk.crowd)
    assert met(judged) == [("AADA", 2), ("ABOB", 2), ("ACARA", 1)] * 2
    assert count_all_again(judged.campaign) == 0


def test_a_decision_is_counted_though_no_pass_has_to_follow_it(judged: Stage) -> None:
    first = Assignment.objects.order_by("pk")[0]
    Behaviour.objects.update(active_ms=1000)
    count_all_again(judged.campaign)
    Assignment.objects.filter(pk=first.pk).update(status="submitted")
    assert not ChangedHit.objects.filter(waits=False).exists()
    tally = tallies_of(judged.campaign, EffortTally).get(assignment=first)
    assert (tally.active_ms, tally.paid_ms) == (1000, 0)


def test_a_bonus_is_counted_once_it_is_paid(judged: Stage) -> None:
    Behaviour.objects.update(active_ms=1000)
    first = Assignment.objects.order_by("pk")[0]
    bonus = OutboxMessage.objects.create(
        campaign=judged.campaign, kind="bonus", token="b", assignment=first, cents=7
    )
    count_all_again(judged.campaign)

    def paid() -> int:
        return tallies_of(judged.campaign, EffortTally).get(assignment=first).bonus_cents

    assert paid() == 0
    OutboxMessage.objects.filter(pk=bonus.pk).update(state="done")
    assert paid() == 7


def test_a_mark_that_comes_while_others_are_counted_stays(
    judged: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same HIT: what it stands for may not be counted yet."""
    hit = judged.hit(1)
    count_around = tallies._count_around

    def meanwhile(*given: Any) -> None:
        count_around(*given)
        UntalliedHit.objects.create(hit=hit)

    monkeypatch.setattr(tallies, "_count_around", meanwhile)
    UntalliedHit.objects.create(hit=hit)
    bring_up_to_date(judged.campaign)
    assert UntalliedHit.objects.get().hit == hit


def test_who_is_excluded_is_in_no_pair(judged: Stage) -> None:
    assert [hit for hit, *_ in pairs(judged)] == [1, 2]
    exclude(judged.campaign, "ABOB", reason="careless")
    assert pairs(judged) == []
    assert not tallies_of(judged.campaign, TripletTally).exists()
    assert count_all_again(judged.campaign) == 0


def test_a_change_that_no_pass_has_followed_counts_and_counts_again_after_it(judged: Stage) -> None:
    exclude(judged.campaign, "ABOB", reason="careless")
    assert pairs(judged) == []
    assert not UntalliedHit.objects.exists()
    pause(judged.campaign)
    recompute(judged.campaign)
    assert sorted(UntalliedHit.objects.values_list("hit__number", flat=True)) == [1, 2]
    assert pairs(judged) == []
    recompute(judged.campaign)  # what waits for money or people is counted once
    assert ChangedHit.objects.filter(waits=True).count() == 2
    assert not UntalliedHit.objects.exists()


def test_more_changes_take_no_more_statements(judged: Stage) -> None:
    def statements() -> int:
        judged.advance()
        with CaptureQueriesContext(connection) as asked:
            bring_up_to_date(judged.campaign)
        return len(asked)

    judged.work("cara", 1)
    few = statements()
    for number in (3, 4, 5):
        judged.work("cara", number)
        judged.work("dan", number)
    assert statements() == few
