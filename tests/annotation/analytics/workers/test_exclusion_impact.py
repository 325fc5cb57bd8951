"""What shutting out would change is worked out from one worker's votes: as doing it would show."""

import random
from functools import partial

import pytest

from annotation.analytics.workers.exclusion_impact import ExclusionImpact, if_excluded, if_restored
from annotation.models import Worker
from annotation.pipeline.ledger.reservations import account_of
from annotation.pipeline.manual.exclusion import Change, exclude, preview, restore
from core.errors import UserError
from tests.conftest import SetStage
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db

PRICE = 19
REASON = "by hand"


def as_change(seen: ExclusionImpact) -> Change:
    return Change(seen.worker, seen.votes, seen.cents, seen.labels_changed, seen.triplets_reopened)


def test_of_two_who_agree_one_less_opens_all_again(one_hit: Stage) -> None:
    """By hand: five labels are open again; one more assignment brings the five votes."""
    one_hit.work("ada", 1)
    one_hit.work("bob", 1)
    one_hit.advance()
    assert if_excluded(one_hit.campaign, "ABOB") == ExclusionImpact(
        worker="ABOB",
        votes=5,
        cents=PRICE,
        labels_changed=5,
        triplets_reopened=5,
        votes_to_buy=5,
        assignments_to_buy=1,
        buy_cents=PRICE,
    )
    before = account_of(one_hit.campaign).reserved_cents
    exclude(one_hit.campaign, "ABOB", reason=REASON)
    assert one_hit.advance().assignments_requested == 1
    assert account_of(one_hit.campaign).reserved_cents == before + PRICE


def test_a_third_vote_that_is_not_needed_changes_no_label(one_hit: Stage) -> None:
    one_hit.work("ada", 1)
    one_hit.work("bob", 1, lambda query, _: int(query == "bread"))
    one_hit.advance()
    one_hit.work("cleo", 1)
    one_hit.advance()
    # Without bob, ada and cleo agree on all five.
    seen = if_excluded(one_hit.campaign, "ABOB")
    assert (seen.labels_changed, seen.votes_to_buy, seen.buy_cents) == (0, 0, 0)
    # Without cleo, ada and bob tie on one triplet.
    seen = if_excluded(one_hit.campaign, "ACLEO")
    assert (seen.labels_changed, seen.triplets_reopened, seen.votes_to_buy) == (1, 1, 1)


@pytest.mark.parametrize("tie_mode", ["extend", "repack"])
@pytest.mark.parametrize("seed", [1, 2])
def test_it_says_what_doing_it_brings_about(set_stage: SetStage, tie_mode: str, seed: int) -> None:
    """The brute force: everything is recounted, and taken back."""
    stage = set_stage(tie_mode=tie_mode, min_assignments=50, candidates_per_query=2)
    stage.publish()
    rng = random.Random(seed)
    for number in range(1, stage.campaign.hits.count() + 1):
        for name in rng.sample(["ada", "bob", "cleo", "dan"], 2):
            stage.work(name, number, lambda *_: rng.randint(0, 1), slips=int(rng.random() < 0.2))
    stage.advance()
    campaign = stage.campaign
    for name in Worker.objects.values_list("worker_id", flat=True):
        seen = if_excluded(campaign, name)
        assert as_change(seen) == preview(partial(exclude, campaign, name, reason=REASON))
        exclude(campaign, name, reason=REASON)
        assert as_change(if_restored(campaign, name)) == preview(partial(restore, campaign, name))
        restore(campaign, name)


def test_looking_changes_nothing(one_hit: Stage) -> None:
    one_hit.work("bob", 1)
    one_hit.advance()
    if_excluded(one_hit.campaign, "ABOB")
    assert not one_hit.campaign.exclusions.exists()
    assert one_hit.outbox("exclude") == []
    assert {row.votes for row in one_hit.campaign.triplets.all()} == {1}


def test_who_cannot_be_excluded_or_restored_is_told(one_hit: Stage) -> None:
    one_hit.work("bob", 1)
    one_hit.advance()
    with pytest.raises(UserError, match="'ABOB' is not excluded"):
        if_restored(one_hit.campaign, "ABOB")
    with pytest.raises(UserError, match="Nobody called 'AEVE'"):
        if_excluded(one_hit.campaign, "AEVE")
    exclude(one_hit.campaign, "ABOB", reason=REASON)
    with pytest.raises(UserError, match="excluded from campaign faq already"):
        if_excluded(one_hit.campaign, "ABOB")
