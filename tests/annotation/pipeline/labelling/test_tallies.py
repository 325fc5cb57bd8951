"""Tallies of the votes: made again around what has changed, they are as if all was counted."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AssignmentTally, ChangedHit, PairTally, TripletTally, UntalliedHit
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
