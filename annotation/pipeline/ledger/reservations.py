"""The one place where money moves: double entries, each booked once, never past the budget.

    funds -> available       the budget, set by a person
    available -> reserved    what a message to buy may cost, in the message's own transaction
    reserved -> paid         an approved assignment; -> discarded where its votes do not count
    reserved -> available    rejected work, assignments that nobody took, tie-breaks not needed
    paid <-> discarded       a worker excluded, or restored
    available -> discarded   what a crowd pays for no work
    available <-> billed     what the crowd's own bill differs by

Here are the budget and the reservations, in `settlements` what becomes of them. The database
keeps the balance by a trigger and refuses whatever would pass the budget.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    F,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Concat, Now

from annotation.models import Account, Assignment, Campaign, Entry, Hit, OutboxMessage
from annotation.protocol.estimates.cost import assignment_cents, tie_assignments
from annotation.protocol.policy.policy import Policy
from core.files.bulk_insert import insert_from_query, insert_objects

BATCH = 1000
CAP = "never_over_budget"
NOTHING = Value(None, output_field=BigIntegerField())

Booked = Assignment.Booked
Place = Entry.Place


class OverBudget(Exception):
    """The entry would pass the campaign's budget; nothing was booked."""


def locked(campaign: Campaign) -> Campaign:
    """The campaign as it is now, held until the transaction ends: one writer of money at a time."""
    # Rows that only point to it may still be written: they do not change it.
    return Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)


def account_of(campaign: Campaign) -> Account:
    return Account.objects.get(campaign=campaign)


def first_round_cents(policy: Policy) -> int:
    """What publishing a HIT reserves: its assignments, and one more where a tie can need it."""
    return assignment_cents(policy) * (policy.annotators + tie_assignments(policy))


def within(account: Account, wanted: int, *, cents: int) -> int:
    """How many of what is wanted, at so many cents each, the budget still reaches."""
    return min(wanted, max(0, account.available_cents) // cents) if cents else wanted


def set_budget(campaign: Campaign, cents: int) -> None:
    """Raises OverBudget where more than that is spent or reserved already."""
    with transaction.atomic():
        account = account_of(locked(campaign))
        change = cents - account.budget_cents
        book(
            [
                Entry(
                    account=account,
                    key=f"budget:{campaign.uid.hex}:{account.entries.count()}",
                    source=Place.FUNDS if change > 0 else Place.AVAILABLE,
                    target=Place.AVAILABLE if change > 0 else Place.FUNDS,
                    cents=abs(change),
                )
            ]
        )


def book(entries: Iterable[Entry]) -> None:
    """All or none, in the caller's transaction. What costs nothing moves nothing: no entry."""
    with _within_budget():
        insert_objects([entry for entry in entries if entry.cents])


def book_from_query(rows: QuerySet[Any], cents: Combinable, **columns: Combinable) -> None:
    """An entry for each row, as `book` does, made where the rows are. `columns`: the entry's."""
    given = {"message_id": NOTHING, "assignment_id": NOTHING} | columns
    costly = rows.annotate(cents_moved=cents).filter(cents_moved__gt=0)
    values = costly.values_list("cents_moved", Now(), *given.values())
    with _within_budget():
        insert_from_query(Entry, ["cents", "at", *given], values)


@contextmanager
def _within_budget() -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if CAP not in str(error):
            raise
        raise OverBudget from error


def reserve(account: Account, message: OutboxMessage, *, assignments: int) -> Entry:
    """The money of `assignments` that the message asks for; to be booked with it."""
    assert message.hit is not None
    return Entry(
        account=account,
        key=f"reserve:{message.token}",
        source=Place.AVAILABLE,
        target=Place.RESERVED,
        cents=assignments * message.hit.price_cents,
        hit=message.hit,
        message=message,
    )


def reserve_from_query(messages: QuerySet[OutboxMessage], *, assignments: Combinable) -> None:
    """The same for each of these messages, booked."""
    book_from_query(
        messages,
        cents=assignments * F("hit__price_cents"),
        account_id=F("campaign__account"),
        key=Concat(Value("reserve:"), "token"),
        source=Value(Place.AVAILABLE),
        target=Value(Place.RESERVED),
        hit_id=F("hit_id"),
        message_id=F("pk"),
    )


def reserve_exactly(campaign: Campaign, hit: Hit, cents: int) -> None:
    """So much for the HIT, no more and no less, whatever it was. Raises OverBudget."""
    missing = cents - reserved_cents([hit]).get(hit.pk, 0)
    more = missing > 0
    book(
        [
            Entry(
                account=account_of(campaign),
                key=f"drift:{hit.key}:{hit.entries.count()}",
                source=Place.AVAILABLE if more else Place.RESERVED,
                target=Place.RESERVED if more else Place.AVAILABLE,
                cents=abs(missing),
                hit=hit,
            )
        ]
    )


def release_rest(campaign: Campaign, hits: Sequence[Hit]) -> None:
    """Free what is reserved for these HITs beyond the work that waits for its decision."""
    account = account_of(campaign)
    entries = []
    for chunk in (hits[start : start + BATCH] for start in range(0, len(hits), BATCH)):
        reserved = reserved_cents(chunk)
        undecided = _undecided(chunk)
        for hit in chunk:
            rest = reserved.get(hit.pk, 0) - undecided.get(hit.pk, 0) * hit.price_cents
            if rest > 0:
                key = f"release:{hit.key}:{hit.entries.count()}"
                entries.append(_release(account, hit, rest, key))
    book(entries)


def release_tie_reserve(campaign: Campaign, hits: Sequence[int]) -> None:
    """These HITs need no tie broken any more."""
    these = campaign.hits.filter(pk__in=hits).order_by("number")
    book_from_query(
        these,
        cents=F("tie_reserve") * F("price_cents"),
        account_id=F("campaign__account"),
        key=Concat(Value("tie-reserve:"), "key"),
        source=Value(Place.RESERVED),
        target=Value(Place.AVAILABLE),
        hit_id=F("pk"),
    )
    these.update(tie_reserve=0)


def _release(account: Account, hit: Hit, cents: int, key: str) -> Entry:
    return Entry(
        account=account,
        key=key,
        source=Place.RESERVED,
        target=Place.AVAILABLE,
        cents=cents,
        hit=hit,
    )


def reserved_cents(hits: Iterable[Hit | int]) -> dict[int, int]:
    """HIT -> what is reserved for it now; HITs without a reservation are absent."""
    sign = Case(
        When(target=Place.RESERVED, then=F("cents")),
        When(source=Place.RESERVED, then=-F("cents")),
        default=0,
    )
    rows = Entry.objects.filter(hit__in=hits).order_by().values_list("hit")
    sums = rows.annotate(left=Sum(sign))
    return {hit: left for hit, left in sums if hit is not None and left}


def _undecided(hits: Iterable[Hit]) -> dict[int, int]:
    assignments = Assignment.objects.filter(hit__in=hits, account=Booked.RESERVED)
    return dict(assignments.order_by().values_list("hit").annotate(count=Count("pk")))
