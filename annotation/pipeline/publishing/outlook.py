"""What a step in a campaign's life will cost and strand: read-only, asked before it is taken."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Sum, When

from annotation.models import (
    Assignment,
    AssignmentCount,
    Campaign,
    Hit,
    HitItem,
    OutboxMessage,
    Triplet,
    TripletCount,
)
from annotation.pipeline.ledger.reservations import account_of, reserved_cents
from annotation.pipeline.outbox.claims import SPENDING, UNSENT
from annotation.pipeline.publishing.publish import left_out

BATCH = 1000

RESERVED = Assignment.Booked.RESERVED
# Of HITs at the crowd: an assignment may still be submitted, by what is known here.
OPEN = Q(closed_at=None, gone=False, max_assignments__gt=F("submitted"))


@dataclass(frozen=True)
class Outlook:
    """What is under way in a campaign, and what each part may still cost at most."""

    waiting_hits: int  # planned and never sent to the crowd
    waiting_assignments: int  # as many more are planned on published HITs
    waiting_cents: int
    left_out_hits: int  # not asked for yet: the budget did not reach them
    open_hits: int  # somebody may still take or submit one of their assignments
    open_assignments: int
    open_cents: int
    tie_break_cents: int  # set aside for the ties of published HITs
    undecided: int  # submitted, the decision is not known yet
    undecided_cents: int
    open_triplets: int  # without a label
    available_cents: int


def outlook(campaign: Campaign) -> Outlook:
    planned = _waiting(campaign)
    missing = F("max_assignments") - F("submitted")
    totals = campaign.hits.exclude(crowd_id=None).aggregate(
        hits=Count("pk", filter=OPEN),
        missing=_total(missing, OPEN),
        cents=_total(missing * F("price_cents"), OPEN),
        tie_break_cents=_total(F("tie_reserve") * F("price_cents")),
    )
    reserved = AssignmentCount.objects.filter(campaign=campaign, account=RESERVED)
    assignments = reserved.aggregate(
        count=_total(F("more")), cents=_total(F("more") * F("price_cents"))
    )
    open_triplets = TripletCount.objects.filter(campaign=campaign, status=Triplet.Status.OPEN)
    return Outlook(
        waiting_hits=planned["hits"],
        waiting_assignments=planned["more"],
        waiting_cents=planned["cents"],
        left_out_hits=left_out(campaign),
        open_hits=totals["hits"],
        # An assignment that is planned is counted above.
        open_assignments=totals["missing"] - planned["more"],
        open_cents=totals["cents"] - planned["more_cents"],
        tie_break_cents=totals["tie_break_cents"],
        undecided=assignments["count"],
        undecided_cents=assignments["cents"],
        open_triplets=open_triplets.aggregate(count=_total(F("more")))["count"],
        available_cents=account_of(campaign).available_cents,
    )


def undecided(campaign: Campaign) -> QuerySet[Assignment]:
    """Submitted, and the decision is not known yet."""
    return Assignment.objects.filter(hit__campaign=campaign, account=RESERVED)


def _waiting(campaign: Campaign) -> dict[str, int]:
    """Planned and never sent: HITs, assignments of published HITs, and the money of both."""
    unsent = campaign.outbox.filter(
        kind__in=SPENDING, state=OutboxMessage.State.PENDING, first_sent_at=None
    )
    creates, extends = Q(kind=OutboxMessage.Kind.CREATE), Q(kind=OutboxMessage.Kind.EXTEND)
    price = F("hit__price_cents")
    asked = F("new_assignments") + Case(When(creates, then=F("hit__tie_reserve")), default=0)
    return unsent.aggregate(
        hits=Count("pk", filter=creates),
        more=_total(F("new_assignments"), extends),
        more_cents=_total(F("new_assignments") * price, extends),
        cents=_total(asked * price),
    )


def _total(expression: object, only: Q | None = None) -> Sum:
    return Sum(expression, filter=only, default=0)


def takeable_hits(campaign: Campaign, now: datetime) -> QuerySet[Hit]:
    """Those of the open ones that have not expired."""
    return campaign.hits.exclude(crowd_id=None).filter(OPEN, expires_at__gt=now)


def hits_missing_votes(campaign: Campaign) -> QuerySet[Hit]:
    """Published HITs with a triplet without a label that stands in no newer HIT."""
    newer = HitItem.objects.filter(triplet=OuterRef("triplet"), hit_id__gt=OuterRef("hit_id"))
    wanting = HitItem.objects.filter(
        ~Exists(newer), hit=OuterRef("pk"), triplet__status=Triplet.Status.OPEN
    )
    return campaign.hits.exclude(crowd_id=None).filter(Exists(wanting), gone=False)


def expired_hits(campaign: Campaign, now: datetime) -> QuerySet[Hit]:
    """HITs that nobody can take any more although votes are missing, and that stay so."""
    reopening = OutboxMessage.objects.filter(
        hit=OuterRef("pk"), kind=OutboxMessage.Kind.LIFETIME, state__in=UNSENT, expires_at__gt=now
    )
    return hits_missing_votes(campaign).filter(~Exists(reopening), expires_at__lte=now)


@dataclass(frozen=True)
class Prolonging:
    """HITs that can be given more time, and assignments whose money is to be reserved again."""

    hits: int
    assignments: int
    cents: int
    left_out: int  # HITs that the budget leaves out
    left_out_cents: int


@dataclass(frozen=True)
class Prolongation:
    """A HIT to be given more time, and how many of its assignments there is no money for."""

    hit: Hit
    lacking: int

    @property
    def cents(self) -> int:
        return self.lacking * self.hit.price_cents


def prolongations(
    campaign: Campaign, until: datetime
) -> tuple[list[Prolongation], list[Prolongation]]:
    """Those that the budget reaches, and those that it leaves out."""
    room = account_of(campaign).available_cents
    covered, left_out = [], []
    hits = hits_missing_votes(campaign).filter(Q(expires_at__lt=until) | ~Q(closed_at=None))
    for one in _with_lacking(list(hits.order_by("number"))):
        if one.cents <= max(room, 0):
            room -= one.cents
            covered.append(one)
        else:
            left_out.append(one)
    return covered, left_out


def most_prolonging(campaign: Campaign) -> Prolonging:
    """As if no HIT ended late enough and the budget reached all of them: no more than this."""
    hits = hits_missing_votes(campaign)
    # Of the others, the money is still reserved.
    over = list(_with_lacking(list(hits.exclude(closed_at=None))))
    return replace(prolonging(over, []), hits=hits.count())


def prolonging(covered: Sequence[Prolongation], left_out: Sequence[Prolongation]) -> Prolonging:
    return Prolonging(
        hits=len(covered),
        assignments=sum(one.lacking for one in covered),
        cents=sum(one.cents for one in covered),
        left_out=len(left_out),
        left_out_cents=sum(one.cents for one in left_out),
    )


def _with_lacking(hits: Sequence[Hit]) -> Iterable[Prolongation]:
    """When a HIT closed, the money of what was not submitted became free."""
    for start in range(0, len(hits), BATCH):
        chunk = hits[start : start + BATCH]
        reserved = reserved_cents(chunk)
        booked = Assignment.objects.filter(hit__in=chunk)
        booked = booked.exclude(account=RESERVED)
        settled = dict(booked.order_by().values_list("hit").annotate(count=Count("pk")))
        for hit in chunk:
            missing = hit.max_assignments - settled.get(hit.pk, 0)
            # Where no money moves, none is lacking.
            paid_for = reserved.get(hit.pk, 0) // hit.price_cents if hit.price_cents else missing
            yield Prolongation(hit, max(0, missing - paid_for))
