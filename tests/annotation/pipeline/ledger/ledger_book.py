"""A campaign's money as its entries tell it."""

from annotation.models import Entry
from annotation.pipeline.ledger.reservations import account_of
from tests.worlds.small_campaign import Stage

PRICE = 19  # of 15 cents, with MTurk's fees of 3 and 1
FIRST_ROUND = 3 * PRICE  # two assignments, and one that breaks a tie


def money(stage: Stage) -> tuple[int, int, int]:
    """(reserved, paid, discarded): the account's, which is what its entries add up to."""
    account = account_of(stage.campaign)
    sides = Entry.objects.filter(account=account).values_list("source", "target", "cents")
    balance = {"available": 0, "reserved": 0, "paid": 0, "discarded": 0, "billed": 0, "funds": 0}
    for source, target, cents in sides:
        balance[source] -= cents
        balance[target] += cents
    assert account.budget_cents == -balance["funds"]
    assert account.available_cents == balance["available"]
    assert account.billed_cents == balance["billed"]
    shown = account.reserved_cents, account.paid_cents, account.discarded_cents
    assert shown == (balance["reserved"], balance["paid"], balance["discarded"])
    return shown


def entry(stage: Stage, cents: int, key: str = "by hand", **sides: str) -> Entry:
    sides = {"source": "available", "target": "reserved"} | sides
    return Entry(account=account_of(stage.campaign), key=key, cents=cents, **sides)
