"""What becomes of the money reserved: decisions of the crowd, exclusions, bonuses."""

from collections.abc import Iterable, Sequence

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Account, Assignment, Campaign, Entry, Exclusion, OutboxMessage
from annotation.pipeline.ledger.reservations import (
    BATCH,
    Booked,
    OverBudget,
    Place,
    account_of,
    book,
    reserved_cents,
)
from annotation.protocol.estimates.cost import bonus_price_cents
from annotation.protocol.labels.valid_votes import VoidReason, void_reason

WORKED = "assignment__hit"


def settle(campaign: Campaign) -> int:
    """Book every decision of the crowd that is not booked yet; how many.

    Work that is approved before our review (by time-out, by hand) waits for the review: only then
    is it known whether its votes count.
    """
    decided = _assignments(campaign).filter(account=Booked.RESERVED, passed__isnull=False)
    decided = decided.exclude(status=Assignment.Status.SUBMITTED)
    booked = 0
    out = excluded_workers(campaign)
    for assignments in _chunks(decided.select_related("hit").order_by("pk")):
        covered = _covered(campaign, assignments)
        for assignment in covered:
            assignment.account = _destination(assignment, out)
        _book_moves(campaign, covered, "settle", source=Place.RESERVED)
        booked += len(covered)
    return booked


def _covered(campaign: Campaign, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Those that there is money for: a HIT that others have grown at the crowd may lack some.

    What the budget cannot cover stays unbooked; `status` tells, and a higher budget mends it.
    """
    account = account_of(campaign)
    left = reserved_cents({assignment.hit for assignment in assignments})
    covered = []
    for assignment in assignments:
        left[assignment.hit_id] = left.get(assignment.hit_id, 0) - assignment.hit.price_cents
        if left[assignment.hit_id] >= 0 or _cover(account, assignment):
            covered.append(assignment)
    return covered


def _cover(account: Account, assignment: Assignment) -> bool:
    key = f"cover:{assignment.crowd_id}"
    try:
        book([_move(account, assignment, key, source=Place.AVAILABLE, target=Place.RESERVED)])
    except OverBudget:
        return False
    return True


def _destination(assignment: Assignment, excluded: set[int]) -> Booked:
    if assignment.status == Assignment.Status.REJECTED:
        return Booked.RELEASED
    return _spent(assignment, excluded)


def _spent(assignment: Assignment, excluded: set[int]) -> Booked:
    """Where what it costs goes, if the crowd pays it."""
    void = void_reason(assignment.facts(excluded, if_paid=True))
    return Booked.DISCARDED if void else Booked.PAID


def pay_overturned(campaign: Campaign, assignment: Assignment) -> None:
    """Reserve again what a rejection had released, and settle it. Raises OverBudget."""
    assignment.account = _spent(assignment, excluded_workers(campaign))
    account = account_of(campaign)
    steps = ((Place.AVAILABLE, Place.RESERVED), (Place.RESERVED, Place(assignment.account)))
    book(
        _move(
            account,
            assignment,
            f"overturned:{target}:{assignment.crowd_id}",
            source=source,
            target=target,
        )
        for source, target in steps
    )
    assignment.save(update_fields=["account"])


def reserve_overturn(campaign: Campaign, message: OutboxMessage) -> None:
    """What the overturning of a rejection costs, in the message's own transaction.

    Raises OverBudget.
    """
    sides = {"source": Place.AVAILABLE, "target": Place.RESERVED}
    book([_overturn(account_of(campaign), message, f"reserve:{message.token}", **sides)])


def settle_overturned(campaign: Campaign) -> None:
    """Book the rejections that the crowd has overturned at our word."""
    done = campaign.outbox.filter(kind=OutboxMessage.Kind.OVERTURN, state=OutboxMessage.State.DONE)
    account, out = account_of(campaign), excluded_workers(campaign)
    for message in done.filter(assignment__account=Booked.RELEASED).select_related(WORKED):
        assignment = message.assignment
        assert assignment is not None
        assignment.account = _spent(assignment, out)
        key, target = f"settle:{message.token}", Place(assignment.account)
        book([_overturn(account, message, key, source=Place.RESERVED, target=target)])
        assignment.save(update_fields=["account"])


def release_overturned(campaign: Campaign) -> None:
    """Rejections that the crowd does not let us overturn: their money is free again."""
    refused = campaign.outbox.filter(
        kind=OutboxMessage.Kind.OVERTURN, state=OutboxMessage.State.CANCELLED
    )
    held = refused.exclude(entries=None).exclude(entries__target=Place.AVAILABLE)
    account = account_of(campaign)
    sides = {"source": Place.RESERVED, "target": Place.AVAILABLE}
    book(
        _overturn(account, message, f"release:{message.token}", **sides)
        for message in held.select_related(WORKED)
    )


def _overturn(
    account: Account, message: OutboxMessage, key: str, *, source: Place, target: Place
) -> Entry:
    """By the message, not by the HIT: its assignments have nothing to do with it."""
    assert message.assignment is not None
    return Entry(
        account=account,
        key=key,
        source=source,
        target=target,
        cents=message.assignment.hit.price_cents,
        assignment=message.assignment,
        message=message,
    )


def discard(campaign: Campaign) -> int:
    """Paid work whose votes no longer count goes to the account of its own; how many."""
    paid = _assignments(campaign).filter(account=Booked.PAID)
    counting = _counting(campaign, paid).filter(pk=OuterRef("pk"))
    void = paid.filter(~Exists(counting))
    return _shift(campaign, void, Booked.DISCARDED, source=Place.PAID)


def restore(campaign: Campaign) -> int:
    """Discarded work whose votes count again goes back; how many."""
    discarded = _assignments(campaign).filter(account=Booked.DISCARDED)
    counting = _counting(campaign, discarded)
    return _shift(campaign, counting, Booked.PAID, source=Place.DISCARDED)


def _counting(campaign: Campaign, paid: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Whose votes count; the crowd's record may still say rejected of what was overturned."""
    return Assignment.valid(paid, campaign, but_for=VoidReason.REJECTED)


def _shift(
    campaign: Campaign, assignments: QuerySet[Assignment], account: Booked, *, source: Place
) -> int:
    moved = list(assignments.select_related("hit").order_by("pk"))
    for assignment in moved:
        assignment.account = account
    # A worker can be excluded, restored and excluded again: each time is an effect of its own.
    turn = campaign.exclusions.count()
    _book_moves(campaign, moved, f"{account}:{turn}", source=source)
    return len(moved)


def _book_moves(
    campaign: Campaign, assignments: Sequence[Assignment], key: str, *, source: Place
) -> None:
    account = account_of(campaign)
    book(
        _move(
            account,
            assignment,
            f"{key}:{assignment.crowd_id}",
            source=source,
            target=_place(assignment),
        )
        for assignment in assignments
    )
    for booked in Booked.values:
        mine = [assignment.pk for assignment in assignments if assignment.account == booked]
        Assignment.objects.filter(pk__in=mine).update(account=booked)


def _place(assignment: Assignment) -> Place:
    return Place.AVAILABLE if assignment.account == Booked.RELEASED else Place(assignment.account)


def _move(
    account: Account, assignment: Assignment, key: str, *, source: Place, target: Place
) -> Entry:
    return Entry(
        account=account,
        key=key,
        source=source,
        target=target,
        cents=assignment.hit.price_cents,
        hit=assignment.hit,
        assignment=assignment,
    )


def reserve_bonus(campaign: Campaign, message: OutboxMessage) -> None:
    """In the message's own transaction. Raises OverBudget."""
    sides = {"source": Place.AVAILABLE, "target": Place.RESERVED}
    book([_bonus(account_of(campaign), message, _turn("reserve", message), **sides)])


def release_bonuses(campaign: Campaign, messages: Iterable[OutboxMessage]) -> int:
    """Bonuses that are not paid after all; the cents that are free again."""
    account = account_of(campaign)
    sides = {"source": Place.RESERVED, "target": Place.AVAILABLE}
    moves = [_bonus(account, message, _turn("release", message), **sides) for message in messages]
    book(moves)
    return sum(move.cents for move in moves)


def settle_bonuses(campaign: Campaign) -> None:
    """Book the bonuses that the crowd has paid."""
    paid = campaign.outbox.filter(kind=OutboxMessage.Kind.BONUS, state=OutboxMessage.State.DONE)
    account = account_of(campaign)
    sides = {"source": Place.RESERVED, "target": Place.PAID}
    open_ones = paid.exclude(entries__target=Place.PAID)
    book(_bonus(account, message, f"settle:{message.token}", **sides) for message in open_ones)


def _turn(what: str, message: OutboxMessage) -> str:
    """A bonus taken back may be given after all: each time is an effect of its own."""
    return f"{what}:{message.token}:{message.entries.count()}"


def _bonus(
    account: Account, message: OutboxMessage, key: str, *, source: Place, target: Place
) -> Entry:
    return Entry(
        account=account,
        key=key,
        source=source,
        target=target,
        cents=bonus_price_cents(message.cents, account.campaign.policy),
        assignment=message.assignment,
        message=message,
    )


def excluded_workers(campaign: Campaign) -> set[int]:
    return set(Exclusion.in_force(campaign).values_list("worker_id", flat=True))


def _assignments(campaign: Campaign) -> QuerySet[Assignment]:
    return Assignment.objects.filter(hit__campaign=campaign)


def _chunks(assignments: QuerySet[Assignment]) -> Iterable[list[Assignment]]:
    last = 0
    while chunk := list(assignments.filter(pk__gt=last)[:BATCH]):
        last = chunk[-1].pk
        yield chunk
