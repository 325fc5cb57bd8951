"""What a repair moves of the money, and whether the account is what its entries make it."""

from django.db import transaction
from django.db.models import Q, Sum

from annotation.models import Account, Campaign, Hit, OutboxMessage
from annotation.pipeline.ledger.reservations import (
    Booked,
    Place,
    account_of,
    locked,
    reserve_exactly,
)
from annotation.pipeline.ledger.settlements import settle
from annotation.pipeline.outbox.claims import UNSENT
from annotation.pipeline.reconcile.report import Reconciled, Repair

FAILED = OutboxMessage.State.FAILED


def set_reserved(campaign: Campaign, hit: Hit) -> None:
    """Reserve for the HIT exactly what its outstanding assignments and tie-break reserve cost.

    The campaign is locked. Raises OverBudget.
    """
    reserve_exactly(campaign, hit, _outstanding(hit) * hit.price_cents)


def _outstanding(hit: Hit) -> int:
    assignments = hit.assignments.all()
    reopening = hit.outbox.filter(kind=OutboxMessage.Kind.LIFETIME, state__in=[*UNSENT, FAILED])
    if hit.closed_at is not None and not reopening.exists():
        return assignments.filter(account=Booked.RESERVED).count()
    return (
        hit.max_assignments - assignments.exclude(account=Booked.RESERVED).count() + hit.tie_reserve
    )


def settle_decided(campaign: Campaign, report: Reconciled) -> None:
    """Every decision is booked when it is recorded; here is what was not."""
    with transaction.atomic():
        settled = settle(locked(campaign))
    if settled:
        sentence = f"{settled} decided assignments had not been booked: settled."
        report.did(Repair.SETTLED, sentence, count=settled)


def check_account(campaign: Campaign, report: Reconciled) -> None:
    """Never mended here: a trigger keeps the row, so a person has to know how this came about."""
    with transaction.atomic():
        account = account_of(locked(campaign))
        moved = _moved(account)
    for column, cents in moved.items():
        if cents != (stands := getattr(account, column)):
            report.leave(
                f"The account of {campaign} says {column} {stands}, its entries make {cents}."
            )


def _moved(account: Account) -> dict[str, int]:
    """What the entries add up to, by the account's column."""
    sums: dict[str, int] = {}
    for place in (Place.RESERVED, Place.PAID, Place.DISCARDED, Place.BILLED):
        sums[f"{place}_cents"] = _sum(account, Q(target=place)) - _sum(account, Q(source=place))
    funds = Q(source=Place.FUNDS), Q(target=Place.FUNDS)
    return {"budget_cents": _sum(account, funds[0]) - _sum(account, funds[1]), **sums}


def _sum(account: Account, which: Q) -> int:
    return int(account.entries.filter(which).aggregate(cents=Sum("cents", default=0))["cents"])
