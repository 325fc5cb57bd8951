"""What becomes of the money reserved: decisions of the crowd, exclusions, bonuses."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from django.db.models import Exists, F, OuterRef, QuerySet, Value
from django.db.models.functions import Concat

from annotation.models import Account, Assignment, Campaign, Entry, Exclusion, OutboxMessage
from annotation.pipeline.changes import in_parts
from annotation.pipeline.ledger.reservations import (
    Booked,
    OverBudget,
    Place,
    account_of,
    book,
    book_from_query,
    reserved_cents,
)
from annotation.protocol.estimates.cost import bonus_price_cents
from annotation.protocol.labels.valid_votes import VoidReason, void_reason

WORKED = "assignment__hit"
MANY = 10_000


def settle(campaign: Campaign) -> int:
    """Book every decision of the crowd that is not booked yet; how many.

    Work that is approved before our review (by time-out, by hand) waits for the review: only then
    is it known whether its votes count.
    """
    decided = _assignments(campaign).filter(account=Booked.RESERVED, passed__isnull=False)
    decided = decided.exclude(status=Assignment.Status.SUBMITTED)
    # Found once: what is booked in this transaction stays in the index's way until its end.
    waiting = list(decided.order_by("pk").values_list("pk", "hit_id", "hit__price_cents"))
    booked = 0
    for some in in_parts(waiting, MANY):
        covered = _covered(campaign, some)
        for destination, mine in _by_destination(campaign, covered):
            _book_moves(campaign, mine, destination, "settle", source=Place.RESERVED)
        booked += len(covered)
    return booked


def _covered(campaign: Campaign, waiting: Sequence[tuple[int, int, int]]) -> list[int]:
    """Those that there is money for: a HIT that others have grown at the crowd may lack some.

    What the budget cannot cover stays unbooked; `status` tells, and a higher budget mends it.
    """
    account = account_of(campaign)
    left = reserved_cents({hit for _, hit, _ in waiting})
    covered = []
    for pk, hit, cents in waiting:
        left[hit] = left.get(hit, 0) - cents
        if left[hit] >= 0 or _cover(account, pk):
            covered.append(pk)
    return covered


def _cover(account: Account, pk: int) -> bool:
    assignment = Assignment.objects.select_related("hit").get(pk=pk)
    key = f"cover:{assignment.crowd_id}"
    try:
        book([_move(account, assignment, key, source=Place.AVAILABLE, target=Place.RESERVED)])
    except OverBudget:
        return False
    return True


def _by_destination(
    campaign: Campaign, assignments: Sequence[int]
) -> Iterator[tuple[Booked, list[int]]]:
    """Where the money of these goes."""
    these = Assignment.objects.filter(pk__in=assignments)
    rejected = set(these.filter(status=Assignment.Status.REJECTED).values_list("pk", flat=True))
    counting = set(_counting(campaign, these).values_list("pk", flat=True)) - rejected
    yield Booked.RELEASED, sorted(rejected)
    yield Booked.PAID, sorted(counting)
    yield Booked.DISCARDED, sorted(set(assignments) - rejected - counting)


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


def discard(campaign: Campaign, workers: Collection[int]) -> int:
    """Paid work of these whose votes no longer count goes to the account of its own; how many."""
    paid = _assignments(campaign).filter(account=Booked.PAID, worker__in=workers)
    counting = _counting(campaign, paid).filter(pk=OuterRef("pk"))
    void = paid.filter(~Exists(counting))
    return _shift(campaign, void, Booked.DISCARDED, source=Place.PAID)


def restore(campaign: Campaign, workers: Collection[int]) -> int:
    """Discarded work of these whose votes count again goes back; how many."""
    discarded = _assignments(campaign).filter(account=Booked.DISCARDED, worker__in=workers)
    counting = _counting(campaign, discarded)
    return _shift(campaign, counting, Booked.PAID, source=Place.DISCARDED)


def _counting(campaign: Campaign, paid: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Whose votes count; the crowd's record may still say rejected of what was overturned."""
    return Assignment.valid(paid, campaign, but_for=VoidReason.REJECTED)


def _shift(
    campaign: Campaign, assignments: QuerySet[Assignment], account: Booked, *, source: Place
) -> int:
    moved = list(assignments.order_by("pk").values_list("pk", flat=True))
    # A worker can be excluded, restored and excluded again: each time is an effect of its own.
    turn = campaign.exclusions.count()
    _book_moves(campaign, moved, account, f"{account}:{turn}", source=source)
    return len(moved)


def _book_moves(
    campaign: Campaign, assignments: Sequence[int], to: Booked, key: str, *, source: Place
) -> None:
    """An entry for each, made where the assignments are: there may be a hundred thousand."""
    account = account_of(campaign)
    for some in in_parts(assignments, MANY):
        mine = Assignment.objects.filter(pk__in=some)
        book_from_query(
            mine.order_by("pk"),
            account_id=Value(account.pk),
            key=Concat(Value(f"{key}:"), "crowd_id"),
            source=Value(source),
            target=Value(_place(to)),
            cents=F("hit__price_cents"),
            hit_id=F("hit_id"),
            assignment_id=F("pk"),
        )
        mine.update(account=to)


def _place(booked: Booked) -> Place:
    return Place.AVAILABLE if booked == Booked.RELEASED else Place(booked)


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


def settle_surplus(campaign: Campaign, paid: Mapping[str, int]) -> int:
    """Book what the crowd has paid for no work; the cents that the budget cannot cover.

    `paid`: cents by the crowd's name of the payment.
    """
    account, keys = account_of(campaign), {f"surplus:{name}": name for name in paid}
    booked = Entry.objects.filter(key__in=keys).values_list("key", flat=True)
    short = 0
    for key in sorted(keys.keys() - set(booked)):
        cents = bonus_price_cents(paid[keys[key]], campaign.policy)
        sides = {"source": Place.AVAILABLE, "target": Place.DISCARDED}
        try:
            book([Entry(account=account, key=key, cents=cents, **sides)])
        except OverBudget:
            short += cents
    return short


def settle_bill(campaign: Campaign, billed: int) -> int:
    """Book what the crowd's own bill differs by; the cents that the budget cannot cover.

    Nothing while work waits for its decision: then the bill may have what the books do not yet.
    """
    if _assignments(campaign).filter(account=Booked.RESERVED).exists():
        return 0
    account = account_of(campaign)
    missing = billed - account.spent_cents
    entry = Entry(
        account=account,
        key=f"bill:{campaign.uid.hex}:{account.entries.count()}",
        source=Place.AVAILABLE if missing > 0 else Place.BILLED,
        target=Place.BILLED if missing > 0 else Place.AVAILABLE,
        cents=abs(missing),
    )
    try:
        book([entry])
    except OverBudget:
        return missing
    return 0


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


def excluded_workers(*campaigns: Campaign) -> set[int]:
    return set(Exclusion.in_force(*campaigns).values_list("worker_id", flat=True))


def _assignments(campaign: Campaign) -> QuerySet[Assignment]:
    return Assignment.objects.filter(hit__campaign=campaign)
