"""Sixteen at once who want more than the budget gives, in threads here, in processes elsewhere."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connections

from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Account, Campaign, Entry, Hit
from annotation.pipeline.ledger.reservations import (
    OverBudget,
    account_of,
    book,
    first_round_cents,
    set_budget,
)
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create import get_campaign
from tests.worlds.small_campaign import packed_campaign

WRITERS = 16
HITS = 20  # of one triplet each
HALF = HITS // 2


def campaign_with_half_its_budget(folder: Path) -> Campaign:
    campaign = packed_campaign(folder, candidates_per_query=4, hit_size=3)
    assert campaign.hits.count() == HITS
    set_budget(campaign, HALF * first_round_cents(campaign.policy))
    return campaign


def publish_too(name: str, crowd: Crowd) -> int:
    """Once more where the crowd says that its refusal may pass, as of a name just taken."""
    while True:
        try:
            return publish(get_campaign(name), crowd).new
        except CrowdError as error:
            if error.permanent:
                raise


def reserve_unlocked(name: str, who: str) -> int:
    """Reservations for every HIT, each by itself, that ask nobody first; how many were booked."""
    campaign = get_campaign(name)
    account = account_of(campaign)
    cents = first_round_cents(campaign.policy)
    return sum(_took(account, hit, who, cents) for hit in campaign.hits.order_by("number"))


def _took(account: Account, hit: Hit, who: str, cents: int) -> bool:
    entry = Entry(
        account=account,
        key=f"{who}:{hit.key}",
        source="available",
        target="reserved",
        cents=cents,
        hit=hit,
    )
    try:
        book([entry])
    except OverBudget:
        return False
    return True


def assert_half_is_reserved(campaign: Campaign) -> None:
    """To the cent, and the account is what its entries add up to."""
    account = account_of(campaign)
    reserved = sum(account.entries.filter(target="reserved").values_list("cents", flat=True))
    assert account.reserved_cents == reserved == account.budget_cents
    assert (account.available_cents, account.spent_cents) == (0, 0)


def assert_half_is_published(campaign: Campaign) -> None:
    assert_half_is_reserved(campaign)
    asked = campaign.hits.filter(outbox__kind="create")
    assert sorted(asked.values_list("number", flat=True)) == list(range(1, HALF + 1))
    assert get_campaign(campaign.name).state == Campaign.State.CAPPED


@dataclass
class Watch:
    """What a bystander saw of the account meanwhile."""

    campaign: Campaign
    looks: int = 0
    over: list[tuple[int, int]] = field(default_factory=list)  # (reserved, budget)

    def look(self) -> None:
        account = account_of(self.campaign)
        self.looks += 1
        if account.reserved_cents + account.spent_cents > account.budget_cents:
            self.over.append((account.reserved_cents, account.budget_cents))


@contextmanager
def watched(campaign: Campaign) -> Iterator[None]:
    """Looks at the account again and again, and never sees it over its budget."""
    watch = Watch(campaign)
    done = threading.Event()
    thread = _looking(watch.look, done)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert watch.looks > 0
    assert watch.over == []


def _looking(look: Callable[[], None], done: threading.Event) -> threading.Thread:
    def run() -> None:
        try:
            while True:
                look()
                if done.is_set():
                    return
        finally:
            connections.close_all()

    return threading.Thread(target=run)
