"""What triggers count is what there is, whatever happens; what differs is mended."""

from collections import Counter
from typing import Any

import pytest
from django.db.models import Count, F

from annotation.models import Assignment, AssignmentCount, Hit, Triplet, TripletCount
from annotation.models.figures import RunningCount
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.labelling import running_counts
from annotation.pipeline.labelling.tallies import count_all_again
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.manual.exclusion import exclude
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

TRIPLETS = "candidate__rank", "status", "label", "votes", "cannot_judge"
ASSIGNMENTS = "worker", "status", "passed", "failure", "account", "hit__price_cents"


@pytest.fixture
def judged(stage: Stage) -> Stage:
    """HITs 1 and 2 by ada, who says no, HIT 1 by bob, who says yes, HIT 3 by eve, who slips."""
    stage.publish()
    for name, number, vote in (("ada", 1, 0), ("bob", 1, 1), ("ada", 2, 0)):
        stage.work(name, number, vote)
    stage.work("eve", 3, slips=1)
    stage.advance()
    return stage


def kept(kind: type[RunningCount]) -> Counter[tuple[Any, ...]]:
    names = [field.attname for field in kind._meta.concrete_fields]
    columns = [one for one in names if one not in ("id", "campaign_id", "more")]
    rows = kind._default_manager.values_list("more", *columns)
    counts = Counter[tuple[Any, ...]]()
    for more, *key in rows:
        counts[tuple(key)] += more
    return Counter({key: more for key, more in counts.items() if more})


def assert_all_is_counted() -> None:
    assert kept(TripletCount) == Counter(Triplet.objects.values_list(*TRIPLETS))
    assert kept(AssignmentCount) == Counter(Assignment.objects.values_list(*ASSIGNMENTS))
    hits = Hit.objects.annotate(there_are=Count("assignments"))
    assert not hits.exclude(submitted=F("there_are")).exists()


def test_what_is_packed_is_counted(stage: Stage) -> None:
    assert sum(kept(TripletCount).values()) == 25
    assert not AssignmentCount.objects.exists()
    assert_all_is_counted()


def test_each_step_is_counted(judged: Stage) -> None:
    assert_all_is_counted()
    judged.work("cara", 1, 1)
    fetch_submissions(judged.campaign, judged.mturk.crowd)
    assert judged.hit(1).submitted == 3
    assert_all_is_counted()
    exclude(judged.campaign, "ABOB", reason="careless")
    judged.advance()
    assert_all_is_counted()


def test_counts_are_of_one_campaign(judged: Stage) -> None:
    TripletCount.objects.update(campaign=judged.campaign.pk + 1)
    assert count_all_again(judged.campaign) == len(kept(TripletCount))


def test_rows_that_say_the_same_are_merged(judged: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def lengths() -> tuple[int, int]:
        return TripletCount.objects.count(), AssignmentCount.objects.count()

    before, counts = lengths(), (kept(TripletCount), kept(AssignmentCount))
    running_counts.merge(locked(judged.campaign))
    assert lengths() == before  # they are few
    monkeypatch.setattr(running_counts, "FEW", 0)
    monkeypatch.setattr(running_counts, "TIMES", 1)
    running_counts.merge(locked(judged.campaign))
    assert lengths() == tuple(map(len, counts)) < before
    assert_all_is_counted()


def test_counts_that_differ_are_mended(judged: Stage) -> None:
    assert count_all_again(judged.campaign) == 0
    Hit.objects.filter(number__lte=2).update(submitted=7)
    TripletCount.objects.create(
        campaign=judged.campaign, rank=3, status="open", votes=9, cannot_judge=0, more=-2
    )
    ada = AssignmentCount.objects.filter(worker__worker_id="AADA").latest("pk")
    ada.delete()
    assert count_all_again(judged.campaign) == 4
    assert_all_is_counted()
    assert count_all_again(judged.campaign) == 0
