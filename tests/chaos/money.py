"""Whether the ledger says, to the cent, what the crowd's own money says."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from annotation.models import Assignment, Campaign, Entry, Hit, OutboxMessage
from tests.chaos.verdict import Verdict

SPENT = ("paid", "discarded")


def money_faults(verdict: Verdict, campaign: Campaign) -> Iterator[str]:
    entries = list(Entry.objects.filter(account__campaign=campaign).select_related("message"))
    yield from _account(campaign, _moved(entries, lambda entry: "all"))
    yield from _spent(verdict, campaign)
    yield from _reserved(verdict, campaign, entries)
    yield from _works(verdict, campaign, entries)


def _moved(entries: list[Entry], by: Callable[[Entry], object]) -> Mapping[tuple[object, str], int]:
    """What the entries leave at each place."""
    left: defaultdict[tuple[object, str], int] = defaultdict(int)
    for entry in entries:
        left[by(entry), entry.target] += entry.cents
        left[by(entry), entry.source] -= entry.cents
    return left


def _account(campaign: Campaign, left: Mapping[tuple[object, str], int]) -> Iterator[str]:
    account = campaign.account
    account.refresh_from_db()
    kept = {
        "funds": -account.budget_cents,
        "available": account.available_cents,
        "reserved": account.reserved_cents,
        "paid": account.paid_cents,
        "discarded": account.discarded_cents,
    }
    for place, cents in kept.items():
        if cents != left["all", place]:
            yield (
                f"The account says {cents} cents are {place}, its entries sum to "
                f"{left['all', place]}."
            )
    for place, cents in kept.items():
        if cents < 0 and place != "funds":
            yield f"The account has {cents} cents {place}."


def _spent(verdict: Verdict, campaign: Campaign) -> Iterator[str]:
    theirs = sum(hit.spent_cents for hit in verdict.record.hits)
    ours = campaign.account.spent_cents
    if ours != theirs:
        yield f"The ledger has spent {ours} cents, the crowd {theirs}."


def _reserved(verdict: Verdict, campaign: Campaign, entries: list[Entry]) -> Iterator[str]:
    """What is reserved is what the crowd holds, and the assignments kept for ties."""
    left = _moved(entries, lambda entry: entry.hit_id)
    held: defaultdict[str, int] = defaultdict(int)
    for theirs in verdict.record.hits:
        held[theirs.key] += theirs.held_cents
    total = 0
    for hit in Hit.objects.filter(campaign=campaign).order_by("number"):
        tie_reserve = hit.tie_reserve * hit.price_cents
        total += held[hit.key] + tie_reserve
        if left[hit.pk, "reserved"] != held[hit.key] + tie_reserve:
            yield (
                f"For HIT {hit.key}, {left[hit.pk, 'reserved']} cents are reserved, but the crowd "
                f"holds {held[hit.key]} and its assignments kept for ties cost {tie_reserve}."
            )
    if campaign.account.reserved_cents != total:
        yield (
            f"{campaign.account.reserved_cents} cents are reserved, but the crowd's hold and the "
            f"assignments kept for ties are {total}."
        )


def _works(verdict: Verdict, campaign: Campaign, entries: list[Entry]) -> Iterator[str]:
    left = _moved(entries, lambda entry: entry.assignment_id)
    rewards = _moved([one for one in entries if not _is_bonus(one)], lambda one: one.assignment_id)
    stored = {work.crowd_id: work for work in Assignment.objects.filter(hit__campaign=campaign)}
    for work in verdict.record.works:
        ours = stored.get(work.assignment_id)
        if ours is None or work.status == "submitted":
            continue  # named elsewhere
        booked = sum(left[ours.pk, place] for place in SPENT)
        if booked != work.spent_cents:
            yield (
                f"Assignment {work.assignment_id} cost {work.spent_cents} cents, "
                f"{booked} are booked."
            )
        right = verdict.account_of(work)
        wrong = [place for place in SPENT if place != right and rewards[ours.pk, place]]
        if ours.account != right or wrong:
            yield (
                f"Assignment {work.assignment_id} is {right}; it is marked as "
                f"{ours.account or 'reserved'}, and its money as {wrong or [right]}."
            )


def _is_bonus(entry: Entry) -> bool:
    return entry.message is not None and entry.message.kind == OutboxMessage.Kind.BONUS
