"""A campaign with controls of its own is packed and repacked with them alone."""

from functools import partial
from pathlib import Path

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation.models import Assignment, Campaign, Control, HitItem, Worker
from annotation.pipeline.controls.own_controls import own_controls
from annotation.pipeline.labelling.exposures import exposures
from annotation.pipeline.publishing.pack import pack_hits
from annotation.protocol.packing.own_controls import Exposure
from core.errors import UserError
from tests.worlds.small_campaign import QUERIES, retrieved_campaign

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def add_own(campaign: Campaign, kind: str, number: int = 0) -> list[Control]:
    return [
        Control.objects.create(
            kind=kind,
            campaign=campaign,
            key=f"d{kind}{number}{key}",
            query=text,
            question=f"{kind} {number} for {key}",
            answer="Ten.",
            drafted=True,
        )
        for key, text in QUERIES.items()
    ]


@pytest.fixture
def campaign(small_database: None, tmp_path: Path) -> Campaign:
    return retrieved_campaign(tmp_path)


def shown(campaign: Campaign) -> list[Control]:
    items = HitItem.objects.filter(hit__campaign=campaign).exclude(control=None)
    return [item.control for item in items.select_related("control") if item.control]


def test_hits_hold_the_campaign_s_own_controls_and_no_others(campaign: Campaign) -> None:
    own = add_own(campaign, "positive") + add_own(campaign, "negative")
    assert pack_hits(campaign).hits == 5
    assert sorted(control.pk for control in shown(campaign)) == sorted(one.pk for one in own)
    assert campaign.controls.count() == len(own)  # no random pairs are drawn


def test_without_controls_of_both_kinds_packing_says_what_is_lacking(campaign: Campaign) -> None:
    add_own(campaign, "positive")
    with pytest.raises(UserError, match="5 positive and 0 negative controls of its own, but 5"):
        pack_hits(campaign)
    assert not campaign.hits.exists()


def test_retired_ones_bring_the_pool_back(campaign: Campaign) -> None:
    add_own(campaign, "positive")
    campaign.controls.update(retired_at="2026-01-01T00:00Z")
    pack_hits(campaign)
    assert not any(control.drafted for control in shown(campaign))


def test_a_control_that_one_worker_has_met_twice_serves_no_more(campaign: Campaign) -> None:
    """One positive for five HITs; of two positives, the one that is worn is left out."""
    worn, *others = add_own(campaign, "positive")
    Control.objects.filter(pk__in=[one.pk for one in others]).delete()
    add_own(campaign, "negative")
    pack_hits(campaign)
    assert exposures(campaign) == {}
    ann, ben = (Worker.objects.create(crowd="a", worker_id=name) for name in ("ann", "ben"))
    first, second, *_ = campaign.hits.order_by("number")
    for number, (hit, worker) in enumerate([(first, ann), (second, ann), (first, ben)]):
        Assignment.objects.create(
            hit=hit,
            worker=worker,
            crowd_id=f"a{number}",
            accepted_at=NOW,
            submitted_at=NOW,
            answers={},
        )
    assert exposures(campaign)[worn.pk] == Exposure(workers=2, most=2)
    positives = partial(own_controls, campaign, Control.Kind.POSITIVE)
    assert [one.key for one in positives(fewest=1)] == [worn.key]
    fresh = [control.key for control in add_own(campaign, "positive", number=1)]
    assert {one.key for one in positives(fewest=5)} == set(fresh)
    assert [one.key for one in positives(fewest=6)][5:] == [worn.key]


def test_the_database_takes_no_positive_of_a_campaign_that_nobody_confirmed(
    campaign: Campaign,
) -> None:
    texts = {"query": "a", "question": "b", "answer": "c"}
    with pytest.raises(IntegrityError):
        Control.objects.create(kind="positive", campaign=campaign, key="k", **texts)
