"""How a campaign stands, and what in it stands still: sentences that name what to do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.db.models import Count, Max, Min, Sum
from django.utils import timezone

from annotation.models import Assignment, Campaign, OutboxMessage
from annotation.pipeline.adjudicate import nobody_may_decide_open
from annotation.pipeline.ledger.reservations import account_of, first_round_cents
from annotation.pipeline.outbox.claims import Clock
from annotation.pipeline.publishing.completion import is_complete
from annotation.pipeline.publishing.outlook import expired_hits
from annotation.pipeline.publishing.publish import held_back, left_out
from annotation.pipeline.publishing.takers import Stranded, stranded
from annotation.pipeline.publishing.top_up import missing_votes
from annotation.protocol.estimates.cost import assignment_cents, is_free
from core.text.money import money
from core.text.words import plural

MOST = 10  # reasons that are told

State = Campaign.State


class Blocker(str):
    """What stands still, and why: a sentence, and the operation that mends it where one does.

    `reason` is the sentence without its command, for pages that show the operation as a button.
    `invite`, `roles`, `review` and `open` are no operations on a campaign, but pages: of the team,
    of who may do what, of what waits for an expert, and of the open triplets one may decide.
    """

    reason: str
    operation: str | None
    alternative: str | None  # another operation that would help
    options: Mapping[str, object]  # of the operation, as far as they are known

    def __new__(
        cls,
        reason: str,
        sentence: str = "",
        *,
        operation: str | None = None,
        options: Mapping[str, object] | None = None,
        alternative: str | None = None,
    ) -> Self:
        made = super().__new__(cls, sentence or reason)
        made.reason, made.operation, made.options = reason, operation, options or {}
        made.alternative = alternative
        return made

    def to_dict(self) -> dict[str, object]:
        return {
            "sentence": str(self),
            "reason": self.reason,
            "operation": self.operation,
            "options": dict(self.options),
            "alternative": self.alternative,
        }


@dataclass(frozen=True)
class Shortage:
    """What waits for a higher budget, and what it costs."""

    hits: int  # of the first round
    assignments: int  # for votes that are missing
    cents: int


def campaign_status(campaign: Campaign, short: Shortage | None = None) -> Blocker:
    """The state, and what follows from it; `short` is counted where it is not given."""
    campaign.refresh_from_db(fields=["state", "first_batch"])
    if is_complete(campaign):
        return Blocker(_what_it_has(campaign))
    if campaign.state == State.CAPPED:
        return _at_its_budget(campaign, short or shortage(campaign))
    if campaign.state == State.PAUSED:
        reason = "paused manually: nothing more is bought"
        command = f" until `quorum campaign resume {campaign}`"
        return Blocker(reason, reason + command, operation="resume")
    if campaign.state == State.CANCELLED:
        paid = "" if is_free(campaign.policy) else " and paid"
        return Blocker(f"cancelled: submitted assignments are still reviewed{paid}")
    if campaign.first_batch is not None:
        first = campaign.first_batch
        those = "HIT alone is" if first == 1 else f"{first:,} HITs alone are"
        reason = f"active: its first {those} asked for"
        command = f"; the rest follows by `quorum campaign publish {campaign}`"
        return Blocker(reason, reason + command)
    return Blocker("active")


def _what_it_has(campaign: Campaign) -> str:
    triplets = campaign.triplets.count()
    labelled = campaign.triplets.filter(status="labelled").count()
    rest = "" if labelled == triplets else f", {triplets - labelled:,} unresolved"
    return f"complete: {labelled_of(labelled, triplets)}{rest}"


def labelled_of(labelled: int, triplets: int) -> str:
    """How far it is, in one number."""
    return f"{labelled:,} of {triplets:,} triplets labelled" if triplets else "nothing packed yet"


def _at_its_budget(campaign: Campaign, short: Shortage) -> Blocker:
    account = account_of(campaign)
    more = max(0, short.cents - account.available_cents)
    if not more:
        return Blocker("at its budget, and there is room again: the next pass buys on")
    reason = (
        f"at its budget: {short.hits:,} HITs and {short.assignments:,} further votes wait; raise "
        f"it by {money(more)}"
    )
    wanted = f"{(account.budget_cents + more) / 100:.2f}"
    return Blocker(
        reason,
        f"{reason}: `quorum campaign budget {campaign} {wanted}`",
        operation="budget",
        options={"amount": wanted},
    )


def shortage(campaign: Campaign) -> Shortage:
    hits, plan, policy = left_out(campaign), missing_votes(campaign), campaign.policy
    groups = -(-len(plan.repacked) // policy.real_items)
    unpaid = [(hit, extra - min(extra, hit.tie_reserve)) for hit, extra in plan.extensions]
    return Shortage(
        hits=hits,
        assignments=groups + sum(extra for _, extra in plan.extensions),
        cents=hits * first_round_cents(policy)
        + groups * assignment_cents(policy, 1)
        + sum(new * hit.price_cents for hit, new in unpaid),
    )


def blockers(
    campaign: Campaign, *, clock: Clock = timezone.now, left: Stranded | None = None
) -> list[Blocker]:
    """What stands still, with its reason and count and what to do about it.

    `left` is counted where it is not given.
    """
    return [
        *_refused(campaign),
        *_waiting(campaign),
        *_unreadable(campaign),
        *_expired(campaign, clock()),
        *_stranded(campaign, left or stranded(campaign, clock())),
        *_uncovered(campaign),
        *_held_back(campaign),
    ]


def _refused(campaign: Campaign) -> Iterator[Blocker]:
    failed = campaign.outbox.filter(state=OutboxMessage.State.FAILED).values("kind", "error")
    rows = failed.annotate(calls=Count("pk"), tries=Max("attempts"))
    for row in rows.order_by("-calls", "kind", "error")[:MOST]:
        tried = f"tried {_times(row['tries'])}"
        reason = f"{row['kind']}, {_times(row['calls'])}: {row['error']} (refused, {tried}"
        command = f"; when that is mended: `quorum campaign retry {campaign}`)"
        yield Blocker(f"{reason})", reason + command, operation="retry")


def _waiting(campaign: Campaign) -> Iterator[Blocker]:
    unsent = campaign.outbox.filter(
        state__in=[OutboxMessage.State.PENDING, OutboxMessage.State.CLAIMED]
    )
    faults = unsent.exclude(error="").values("kind", "error")
    rows = faults.annotate(calls=Count("pk"), tries=Max("attempts"), next_at=Min("retry_at"))
    for row in rows.order_by("-calls", "kind", "error")[:MOST]:
        reason = f"{row['kind']}, {_times(row['calls'])}: {row['error']}" + _turn(**row)
        yield Blocker(reason, operation="retry")


def _turn(*, tries: int, next_at: datetime | None, **_: object) -> str:
    """How often it was tried, and when it is its turn again."""
    if not tries:
        return ""
    when = "with the next pass" if next_at is None else f"from {next_at:%Y-%m-%d %H:%M:%S} UTC on"
    return f" (tried {_times(tries)}, again {when})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _unreadable(campaign: Campaign) -> Iterator[Blocker]:
    faults = campaign.hits.exclude(fault="").order_by().values_list("fault")
    for reason, hits in faults.annotate(hits=Count("pk")).order_by("-hits", "fault")[:MOST]:
        fault = reason.removesuffix(".")  # who shows the sentence ends it
        reason = f"{hits:,} HIT{'s' if hits > 1 else ''} cannot be read: {fault}"
        reason = campaign.policy.crowd_traits.said(reason)
        command = f"; `quorum campaign reconcile {campaign}` compares them with the crowd's record"
        yield Blocker(reason, reason + command, operation="reconcile")


def _expired(campaign: Campaign, now: datetime) -> Iterator[Blocker]:
    expired = expired_hits(campaign, now).count()
    if expired and campaign.state != State.CANCELLED:
        hits = "1 HIT has" if expired == 1 else f"{expired:,} HITs have"
        reason = campaign.policy.crowd_traits.said(f"{hits} expired with votes missing")
        command = f": `quorum campaign extend {campaign} --days 7` gives them more time"
        yield Blocker(reason, reason + command, operation="extend", options={"days": 7})


def _stranded(campaign: Campaign, left: Stranded) -> Iterator[Blocker]:
    """Nobody who may take them is left: no pass mends that, people do."""
    if not left.assignments or campaign.state == State.CANCELLED:
        return
    those = "1 assignment" if left.assignments == 1 else f"{left.assignments:,} assignments"
    more = "one more person" if left.people == 1 else f"{left.people:,} more people"
    todo, operation, command = f"invite {more}", "invite", " by `quorum crowd invite`"
    if left.closed:
        role = "annotator" if left.people == 1 else "annotators"
        todo, operation, command = f"make {more} its {role}", "roles", " on its page of roles"
    if left.is_deserted and not left.closed:
        people = plural(left.people, "person", "people")
        reason, instead, alternative = f"nobody has joined yet: invite at least {people}", "", None
    else:
        reason = f"{those} that nobody eligible is left for: {todo}"
        instead, alternative = _instead_of_votes(campaign, left)
    yield Blocker(
        reason + instead, reason + command + instead, operation=operation, alternative=alternative
    )


def _instead_of_votes(campaign: Campaign, left: Stranded) -> tuple[str, str | None]:
    """What else there is to do, and where."""
    if not (left.ties or left.others):
        return "", None
    if campaign.policy.adjudication != "decide":
        return f", or release without {_triplets(left)}", "review"
    if nobody_may_decide_open(campaign):
        return ", or make somebody who has not judged them an adjudicator", "roles"
    return f", or let an owner decide {_triplets(left)}", "open"


def _triplets(left: Stranded) -> str:
    if not left.others:
        return plural(left.ties, "tie")
    if not left.ties:
        return plural(left.others, "triplet")
    return f"{plural(left.ties, 'tie')} and {plural(left.others, 'other triplet')}"


def _uncovered(campaign: Campaign) -> Iterator[Blocker]:
    """The ledger could not book these: somebody has bought them past this campaign's budget."""
    assignments = Assignment.objects.filter(
        hit__campaign=campaign,
        status=Assignment.Status.APPROVED,
        passed__isnull=False,
        account=Assignment.Booked.RESERVED,
    )
    sums = assignments.aggregate(assignments=Count("pk"), cents=Sum("hit__price_cents", default=0))
    if sums["assignments"]:
        reason = (
            f"{sums['assignments']} approved assignments, {money(sums['cents'])}, are not "
            "covered by the budget"
        )
        command = f": raise it by `quorum campaign budget {campaign} AMOUNT`"
        yield Blocker(reason, reason + command, operation="budget")


def _held_back(campaign: Campaign) -> Iterator[Blocker]:
    campaign.refresh_from_db(fields=["first_batch"])
    if (hits := held_back(campaign)) and campaign.state != State.CANCELLED:
        those = "1 HIT waits" if hits == 1 else f"{hits:,} HITs wait"
        reason = f"{those} behind the first batch of {campaign.first_batch:,}"
        command = f": `quorum campaign publish {campaign}` lets them follow"
        yield Blocker(reason, reason + command, operation="publish")
