"""The one place where money moves: double entries, each booked once, never past the budget.

    funds -> available       the budget, set by a person
    available -> reserved    what an intent to buy may cost, in the intent's own transaction
    reserved -> paid         an approved assignment; -> discarded where its votes do not count
    reserved -> available    rejected work, places that nobody took, tie-breaks not needed
    paid <-> discarded       a worker excluded, or restored

The database keeps the balance by a trigger and refuses whatever would pass the budget.
"""

from collections.abc import Iterable, Sequence

from django.db import IntegrityError, transaction
from django.db.models import Case, Count, F, QuerySet, Sum, When

from annotation.models import Account, Assignment, Campaign, Entry, Hit, Intent
from annotation.pipeline.bulk import insert_objects
from annotation.protocol.cost import assignment_cents, bonus_price_cents, tie_places
from annotation.protocol.policy import Policy

BATCH = 1000
CAP = "never_over_budget"

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
    """What publishing a HIT reserves: its places, and one more where a tie can need it."""
    return assignment_cents(policy) * (policy.annotators + tie_places(policy))


def set_budget(campaign: Campaign, cents: int) -> None:
    """Raises OverBudget where more than that is spent or reserved already."""
    with transaction.atomic():
        account = account_of(locked(campaign))
        change = cents - account.budget_cents
        if not change:
            return
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


def book(entries: Sequence[Entry]) -> None:
    """All or none, in the caller's transaction."""
    try:
        with transaction.atomic():
            insert_objects(entries)
    except IntegrityError as error:
        if CAP not in str(error):
            raise
        raise OverBudget from error


def reserve(account: Account, intent: Intent, *, places: int) -> Entry:
    """The money of `places` assignments that the intent asks for; to be booked with it."""
    assert intent.hit is not None
    return Entry(
        account=account,
        key=f"reserve:{intent.token}",
        source=Place.AVAILABLE,
        target=Place.RESERVED,
        cents=places * intent.hit.price_cents,
        hit=intent.hit,
        intent=intent,
    )


def settle(campaign: Campaign) -> int:
    """Book every decision of the crowd that is not booked yet; how many.

    Work that is approved before our review (by time-out, by hand) waits for the review: only then
    is it known whether its votes count.
    """
    decided = _assignments(campaign).filter(account=Booked.RESERVED, passed__isnull=False)
    decided = decided.exclude(status=Assignment.Status.SUBMITTED)
    booked = 0
    out = excluded_workers(campaign)
    for works in _chunks(decided.select_related("hit").order_by("pk")):
        covered = _covered(campaign, works)
        for work in covered:
            work.account = _destination(work, out)
        _book_moves(campaign, covered, "settle", source=Place.RESERVED)
        booked += len(covered)
    return booked


def _covered(campaign: Campaign, works: Sequence[Assignment]) -> list[Assignment]:
    """Those that there is money for: a HIT that others have grown at the crowd may lack some.

    What the budget cannot cover stays unbooked; `status` tells, and a higher budget mends it.
    """
    account = account_of(campaign)
    left = reserved_cents({work.hit for work in works})
    covered = []
    for work in works:
        left[work.hit_id] = left.get(work.hit_id, 0) - work.hit.price_cents
        if left[work.hit_id] >= 0 or _cover(account, work):
            covered.append(work)
    return covered


def _cover(account: Account, work: Assignment) -> bool:
    entry = Entry(
        account=account,
        key=f"cover:{work.crowd_id}",
        source=Place.AVAILABLE,
        target=Place.RESERVED,
        cents=work.hit.price_cents,
        hit=work.hit,
        assignment=work,
    )
    try:
        book([entry])
    except OverBudget:
        return False
    return True


def _destination(work: Assignment, excluded: set[int]) -> str:
    if work.status == Assignment.Status.REJECTED:
        return Booked.RELEASED
    counts = work.passed and work.worker_id not in excluded
    return Booked.PAID if counts else Booked.DISCARDED


def settle_bonuses(campaign: Campaign) -> None:
    """Book the bonuses that the crowd has paid."""
    paid = campaign.intents.filter(kind=Intent.Kind.BONUS, state=Intent.State.DONE)
    account = account_of(campaign)
    open_ones = paid.exclude(entries__target=Place.PAID)
    book(
        [
            Entry(
                account=account,
                key=f"settle:{intent.token}",
                source=Place.RESERVED,
                target=Place.PAID,
                cents=bonus_price_cents(intent.cents),
                assignment=intent.assignment,
                intent=intent,
            )
            for intent in open_ones
        ]
    )


def discard(campaign: Campaign) -> int:
    """Paid work whose votes no longer count goes to the account of its own; how many."""
    out = campaign.exclusions.filter(restored_at=None).values("worker")
    works = _assignments(campaign).filter(account=Booked.PAID, worker__in=out)
    return _move(campaign, works, Booked.DISCARDED, source=Place.PAID)


def restore(campaign: Campaign) -> int:
    """Discarded work whose votes count again goes back; how many."""
    out = campaign.exclusions.filter(restored_at=None).values("worker")
    works = _assignments(campaign).filter(account=Booked.DISCARDED, passed=True)
    works = works.exclude(status=Assignment.Status.REJECTED).exclude(worker__in=out)
    return _move(campaign, works, Booked.PAID, source=Place.DISCARDED)


def _move(
    campaign: Campaign, works: QuerySet[Assignment], account: Booked, *, source: Place
) -> int:
    moved = list(works.select_related("hit").order_by("pk"))
    for work in moved:
        work.account = account
    # A worker can be excluded, restored and excluded again: each time is an effect of its own.
    turn = campaign.exclusions.count()
    _book_moves(campaign, moved, f"{account}:{turn}", source=source)
    return len(moved)


def _book_moves(campaign: Campaign, works: Sequence[Assignment], key: str, *, source: str) -> None:
    account = account_of(campaign)
    book(
        [
            Entry(
                account=account,
                key=f"{key}:{work.crowd_id}",
                source=source,
                target=Place.AVAILABLE if work.account == Booked.RELEASED else work.account,
                cents=work.hit.price_cents,
                hit=work.hit,
                assignment=work,
            )
            for work in works
        ]
    )
    for booked in Booked.values:
        mine = [work.pk for work in works if work.account == booked]
        Assignment.objects.filter(pk__in=mine).update(account=booked)


def release_rest(campaign: Campaign, hits: Sequence[Hit]) -> int:
    """Free what is reserved for these HITs beyond the work that waits for its decision; cents."""
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
    return sum(entry.cents for entry in entries)


def release_spare(campaign: Campaign, hits: Sequence[Hit]) -> None:
    """These HITs need no tie broken any more."""
    account = account_of(campaign)
    book([_release(account, hit, hit.spare * hit.price_cents, f"spare:{hit.key}") for hit in hits])
    Hit.objects.filter(pk__in=[hit.pk for hit in hits]).update(spare=0)


def _release(account: Account, hit: Hit, cents: int, key: str) -> Entry:
    return Entry(
        account=account,
        key=key,
        source=Place.RESERVED,
        target=Place.AVAILABLE,
        cents=cents,
        hit=hit,
    )


def reserved_cents(hits: Iterable[Hit]) -> dict[int, int]:
    """HIT -> what is reserved for it now; HITs without a reservation are absent."""
    sign = Case(
        When(target=Place.RESERVED, then=F("cents")),
        When(source=Place.RESERVED, then=-F("cents")),
        default=0,
    )
    rows = Entry.objects.filter(hit__in=hits).order_by().values_list("hit")
    found = rows.annotate(left=Sum(sign))
    return {hit: left for hit, left in found if hit is not None and left}


def _undecided(hits: Iterable[Hit]) -> dict[int, int]:
    works = Assignment.objects.filter(hit__in=hits, account=Booked.RESERVED)
    return dict(works.order_by().values_list("hit").annotate(count=Count("pk")))


def excluded_workers(campaign: Campaign) -> set[int]:
    exclusions = campaign.exclusions.filter(restored_at=None)
    return set(exclusions.values_list("worker_id", flat=True))


def _assignments(campaign: Campaign) -> QuerySet[Assignment]:
    return Assignment.objects.filter(hit__campaign=campaign)


def _chunks(works: QuerySet[Assignment]) -> Iterable[list[Assignment]]:
    last = 0
    while chunk := list(works.filter(pk__gt=last)[:BATCH]):
        last = chunk[-1].pk
        yield chunk
