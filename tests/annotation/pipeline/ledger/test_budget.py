"""Sixteen at once against a budget for half of the HITs: never a cent over, and all of it used."""

from functools import partial
from pathlib import Path

import pytest

from annotation.models import Campaign
from annotation.pipeline.ledger.reservations import account_of, first_round_cents, set_budget
from tests.annotation.pipeline.ledger.budget_race import (
    HALF,
    WRITERS,
    assert_half_is_published,
    assert_half_is_reserved,
    campaign_with_half_its_budget,
    publish_too,
    reserve_unlocked,
    watched,
)
from tests.support.threads import together
from tests.worlds.account import Account

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def campaign(small_database: None, tmp_path: Path) -> Campaign:
    return campaign_with_half_its_budget(tmp_path)


def test_sixteen_publishers_publish_exactly_half(campaign: Campaign, mturk: Account) -> None:
    one = partial(publish_too, campaign.name, mturk.crowd)
    with watched(campaign):
        published = together(*[one] * WRITERS)
    assert sum(published) == HALF
    assert_half_is_published(campaign)


def test_sixteen_publishers_share_a_budget_that_grows_meanwhile(
    campaign: Campaign, mturk: Account
) -> None:
    """Each HIT goes to the first who comes; none goes to two."""
    price = first_round_cents(campaign.policy)
    set_budget(campaign, price)

    def grow() -> int:
        for hits in range(2, HALF + 1):
            set_budget(campaign, hits * price)
        return 0

    def publish_on() -> int:
        published = publish_too(campaign.name, mturk.crowd)
        while account_of(campaign).budget_cents < HALF * price:
            published += publish_too(campaign.name, mturk.crowd)
        return published + publish_too(campaign.name, mturk.crowd)

    with watched(campaign):
        published = together(grow, *[publish_on] * WRITERS)
    assert sum(published) == HALF
    assert_half_is_published(campaign)


def test_the_database_alone_holds_sixteen_who_ask_nobody_first(campaign: Campaign) -> None:
    writers = [partial(reserve_unlocked, campaign.name, f"writer {n}") for n in range(WRITERS)]
    with watched(campaign):
        booked = together(*writers)
    assert sum(booked) == HALF
    assert_half_is_reserved(campaign)
