"""Decide on an assignment by hand: pay it after all, or refuse it.

What the review found of its controls stays, and with it the order in which failures exclude a
worker. So work that missed a control can be paid, but its votes never count; and work that is
refused loses its votes without counting as a failure.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, Campaign, OutboxMessage
from annotation.pipeline.labelling.votes import valid_judgments
from annotation.pipeline.ledger.reservations import OverBudget, account_of, locked
from annotation.pipeline.ledger.settlements import reserve_overturn
from annotation.pipeline.outbox.claims import DECISIONS, UNSENT
from annotation.pipeline.outbox.messages import cancel_messages, token
from core.errors import UserError
from core.text.money import money

Kind = OutboxMessage.Kind
Status = Assignment.Status


@dataclass(frozen=True)
class Decision:
    """What is to be told to the crowd."""

    worker: str
    assignment: str
    kind: str  # approve, reject or overturn
    cents: int  # what it costs, or sets free
    votes: int  # that count now, or will
    passed: bool
    until: datetime | None = None  # the crowd lets a rejection be overturned


def preview_approval(campaign: Campaign, assignment: str, *, now: datetime) -> Decision:
    """Raises UserError where it cannot be paid, whatever the budget."""
    reviewed = _reviewed(campaign, assignment)
    if reviewed.status == Status.APPROVED:
        raise UserError(f"Assignment {reviewed} is approved already: an approval is final.")
    if reviewed.status == Status.REJECTED:
        until = overturnable_until(reviewed)
        _check_overturnable(reviewed, until, now)
        return _decision(campaign, reviewed, Kind.OVERTURN, until=until)
    _check_free(reviewed, Kind.APPROVE, Kind.REJECT)
    return _decision(campaign, reviewed, Kind.APPROVE)


def approve_manually(campaign: Campaign, assignment: str, *, now: datetime) -> Decision:
    """Pay it in place of its rejection, or overturn a rejection that the crowd was told of."""
    try:
        with transaction.atomic():
            campaign = locked(campaign)
            seen = preview_approval(campaign, assignment, now=now)
            reviewed = _reviewed(campaign, assignment)
            if seen.kind == Kind.APPROVE:
                _turn(campaign, reviewed, Kind.APPROVE, Kind.REJECT, reason="")
            else:
                reserve_overturn(campaign, _order(campaign, reviewed, Kind.OVERTURN))
    except OverBudget as error:
        raise over_budget(campaign, seen) from error
    return seen


def check_covered(campaign: Campaign, seen: Decision) -> None:
    """Raises UserError where the budget does not reach now."""
    left = account_of(campaign).available_cents
    if seen.kind == Kind.OVERTURN and seen.cents > left:
        raise over_budget(campaign, seen)


def over_budget(campaign: Campaign, seen: Decision) -> UserError:
    left = account_of(campaign).available_cents
    return UserError(
        f"Assignment {seen.assignment} costs {money(seen.cents)}, but the budget of {campaign} "
        f"has {money(left)} left: raise it by `quorum campaign budget`."
    )


def preview_rejection(campaign: Campaign, assignment: str, *, reason: str) -> Decision:
    """Raises UserError where it cannot be refused."""
    crowd = campaign.policy.crowd_traits
    if not crowd.shortest_reason <= len(reason.strip()) <= crowd.longest_reason:
        least = f"at least {crowd.shortest_reason} and " if crowd.shortest_reason > 1 else ""
        raise UserError(
            f"The worker sees the reason for the rejection: give one of {least}at most "
            f"{crowd.longest_reason:,} characters."
        )
    reviewed = _reviewed(campaign, assignment)
    if reviewed.status == Status.APPROVED:
        raise UserError(f"Assignment {reviewed} is approved: that is final at the crowd.")
    if reviewed.status == Status.REJECTED:
        raise UserError(f"Assignment {reviewed} is rejected already.")
    _check_free(reviewed, Kind.REJECT, Kind.APPROVE)
    return _decision(campaign, reviewed, Kind.REJECT)


def reject_manually(campaign: Campaign, assignment: str, *, reason: str) -> Decision:
    """In place of an approval that the crowd was not told of yet."""
    with transaction.atomic():
        campaign = locked(campaign)
        seen = preview_rejection(campaign, assignment, reason=reason)
        reviewed = _reviewed(campaign, assignment)
        _turn(campaign, reviewed, Kind.REJECT, Kind.APPROVE, reason=reason.strip())
    return seen


def _reviewed(campaign: Campaign, assignment: str) -> Assignment:
    assignments = Assignment.objects.filter(hit__campaign=campaign, crowd_id=assignment)
    reviewed = assignments.select_related("hit__campaign", "worker").first()
    if reviewed is None:
        raise UserError(f"Campaign {campaign} has no assignment {assignment!r}.")
    if reviewed.passed is None:
        raise UserError(
            f"Assignment {reviewed} is not reviewed yet: decide when its controls are known, after "
            f"`quorum campaign collect {campaign}`."
        )
    return reviewed


def overturnable_until(assignment: Assignment) -> datetime | None:
    """None: at any time."""
    days = assignment.hit.campaign.policy.crowd_traits.overturn_days
    return None if days is None else assignment.submitted_at + timedelta(days=days)


def _check_overturnable(assignment: Assignment, until: datetime | None, now: datetime) -> None:
    if until is not None and until <= now:
        raise UserError(
            f"The rejection of assignment {assignment}, submitted on "
            f"{assignment.submitted_at:%Y-%m-%d}, could be overturned until {until:%Y-%m-%d}. You "
            "can still pay a bonus for it."
        )
    if assignment.account != Assignment.Booked.RELEASED:
        raise UserError(
            f"The rejection of assignment {assignment} is not booked yet: try again later."
        )
    if assignment.outbox.filter(kind=Kind.OVERTURN, state__in=UNSENT).exists():
        raise UserError(f"The rejection of assignment {assignment} is being overturned already.")


def _check_free(assignment: Assignment, wanted: Kind, instead_of: Kind) -> None:
    """The decision that stands is the other one, and surely without effect so far."""
    live = _decisions(assignment).exclude(state=OutboxMessage.State.CANCELLED)
    if live.filter(kind=wanted).exists():
        verb = "approved" if wanted == Kind.APPROVE else "rejected"
        raise UserError(
            f"Assignment {assignment} is {verb} already. The decision reaches the crowd "
            "with the next pass."
        )
    sent = live.filter(kind=instead_of, first_sent_at__isnull=False)
    if sent.exclude(state=OutboxMessage.State.FAILED).exists():
        verb = "approval" if instead_of == Kind.APPROVE else "rejection"
        raise UserError(
            f"The {verb} of assignment {assignment} is on its way to the crowd: wait for its "
            "answer."
        )


def _turn(
    campaign: Campaign, assignment: Assignment, wanted: Kind, instead_of: Kind, *, reason: str
) -> None:
    live = _decisions(assignment).filter(kind=instead_of)
    cancel_messages(live)
    if live.exclude(state=OutboxMessage.State.CANCELLED).exists():  # claimed at this moment
        raise UserError(
            f"The decision on assignment {assignment} is on its way to the crowd: wait for its "
            "answer."
        )
    _order(campaign, assignment, wanted, reason=reason)


def _order(
    campaign: Campaign, assignment: Assignment, kind: Kind, *, reason: str = ""
) -> OutboxMessage:
    before = _decisions(assignment) if kind in DECISIONS else assignment.outbox.filter(kind=kind)
    return OutboxMessage.objects.create(
        campaign=campaign,
        kind=kind,
        token=token(kind, assignment.crowd_id, before.count()),
        assignment=assignment,
        worker=assignment.worker,
        reason=reason,
    )


def _decisions(assignment: Assignment) -> QuerySet[OutboxMessage]:
    return assignment.outbox.filter(kind__in=DECISIONS)


def _decision(
    campaign: Campaign, assignment: Assignment, kind: Kind, *, until: datetime | None = None
) -> Decision:
    votes = assignment.judgments.filter(triplet__isnull=False).count() if assignment.passed else 0
    if kind == Kind.REJECT:
        votes = valid_judgments(campaign).filter(assignment=assignment).count()
    return Decision(
        worker=assignment.worker.worker_id,
        assignment=assignment.crowd_id,
        kind=kind,
        cents=assignment.hit.price_cents,
        votes=votes,
        passed=bool(assignment.passed),
        until=until,
    )
