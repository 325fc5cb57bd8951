"""One call to the crowd for each kind of message, safe to repeat. Nothing here writes our database.

After a day the crowd has forgotten its tokens, so its own record is asked first.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from annotation.crowd.hit_url import hit_url
from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Assignment, Campaign, OutboxMessage
from annotation.pipeline.outbox.hit_type import hit_type
from annotation.pipeline.outbox.messages import token
from annotation.protocol.screening.control import RejectionReason
from core.log_context import about
from core.prometheus import CROWD_CALLS

log = logging.getLogger(__name__)

TOKEN_LIFE = timedelta(hours=23)  # the crowd remembers tokens for 24 hours
SUBJECT_LENGTH = 200  # of a message; MTurk's


@dataclass(frozen=True)
class Known:
    """What was looked up before: what the crowd already has, for messages whose token it may have
    forgotten, and what workers had right in the qualification test.
    """

    hits: Mapping[str, str] = field(default_factory=dict)  # our key -> the crowd's id
    assignments: Mapping[int, int] = field(default_factory=dict)  # HIT -> assignments bought before
    scores: Mapping[int, int] = field(
        default_factory=dict
    )  # worker -> percent right in the qualification test


@dataclass(frozen=True)
class Outcome:
    """What came of a call."""

    message: OutboxMessage
    crowd_id: str = ""  # of a HIT that is published now
    status: str = ""  # of an assignment that is decided now
    expires_at: datetime | None = None
    error: CrowdError | None = None


def is_forgotten(message: OutboxMessage, now: datetime) -> bool:
    return message.first_sent_at is not None and message.first_sent_at < now - TOKEN_LIFE


def send(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    """The call and what came of it, a CrowdError included."""
    hit = message.hit or (message.assignment and message.assignment.hit)
    with about(campaign=campaign, hit=hit and hit.key):
        try:
            outcome = _CALLS[OutboxMessage.Kind(message.kind)](message, campaign, crowd, known, now)
        except CrowdError as error:
            outcome = Outcome(message, error=error)
        log.log(_level(outcome.error), "%s: %s", message.kind, outcome.error or "done")
    CROWD_CALLS.labels(message.kind, _result(outcome.error)).inc()
    return outcome


def _level(error: CrowdError | None) -> int:
    """A call that is made again later may be one of thousands, and its pass tells of it."""
    if error is None:
        return logging.DEBUG
    return logging.WARNING if error.permanent else logging.INFO


def _result(error: CrowdError | None) -> str:
    if error is None:
        return "done"
    if error.throttled:
        return "throttled"
    return "refused" if error.permanent else "failed"


def _create(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    hit = message.hit
    assert hit is not None
    lifetime = timedelta(days=campaign.policy.lifetime_days)
    crowd_id = known.hits.get(hit.key) if is_forgotten(message, now) else None
    if crowd_id is None:
        crowd_id = crowd.create_hit(
            hit_type_id=_hit_type(message, campaign, crowd),
            url=hit_url(hit.key),
            max_assignments=message.new_assignments,
            lifetime_seconds=int(lifetime.total_seconds()),
            token=message.token,
            annotation=hit.key,
        )
    return Outcome(message, crowd_id=crowd_id, expires_at=now + lifetime)


def _hit_type(message: OutboxMessage, campaign: Campaign, crowd: Crowd) -> str:
    """The campaign's, or for repacked triplets one that bars their earlier workers."""
    assert message.hit is not None
    if not message.hit.repack:
        return campaign.hit_type_id
    return crowd.create_hit_type(
        hit_type(
            campaign.policy,
            campaign.exclusion_id,
            qualified_id=campaign.qualified_id,
            known_id=campaign.known_id,
            excluded_workers=message.hit.excluded_workers,
        )
    )


def _extend(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    hit = message.hit
    assert hit is not None
    assert hit.crowd_id is not None
    if not (is_forgotten(message, now) and _has_assignments(message, crowd, known)):
        crowd.extend_hit(hit.crowd_id, extra=message.new_assignments, token=message.token)
    return Outcome(message)


def _has_assignments(message: OutboxMessage, crowd: Crowd, known: Known) -> bool:
    """Whether the crowd already counts the assignments this message asks for."""
    assert message.hit is not None
    assert message.hit.crowd_id is not None
    hit = crowd.hit(message.hit.crowd_id)
    if hit is None:
        raise CrowdError(f"The crowd no longer knows HIT {message.hit.crowd_id}.", permanent=True)
    return hit.max_assignments >= known.assignments.get(message.hit.pk, 0) + message.new_assignments


def _decide(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assignment = message.assignment
    assert assignment is not None
    try:
        if message.kind == OutboxMessage.Kind.APPROVE:
            crowd.approve(assignment.crowd_id)
            return Outcome(message, status=Assignment.Status.APPROVED)
        crowd.reject(assignment.crowd_id, reason=message.reason, why=_why(message, assignment))
        return Outcome(message, status=Assignment.Status.REJECTED)
    except CrowdError as error:
        if not error.permanent:
            raise
        # Work that waits too long is approved by the crowd itself, and its word is final.
        status = _decided(assignment, crowd)
        if status == Assignment.Status.SUBMITTED:
            raise
        return Outcome(message, status=status)


def _why(message: OutboxMessage, assignment: Assignment) -> RejectionReason:
    """Of the review's own decision, which is the first, what its checks were; else a person's."""
    is_ours = message.token == token(message.kind, assignment.crowd_id)
    return RejectionReason[assignment.failure.upper()] if is_ours else RejectionReason.MANUAL


def _overturn(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert message.assignment is not None
    crowd.overturn(message.assignment.crowd_id)
    return Outcome(message, status=Assignment.Status.APPROVED)


def _decided(assignment: Assignment, crowd: Crowd) -> str:
    """What the crowd's record says of it by now."""
    assert assignment.hit.crowd_id is not None
    for theirs in crowd.submissions(assignment.hit.crowd_id):
        if theirs.assignment_id == assignment.crowd_id:
            return theirs.status
    return Assignment.Status.SUBMITTED


def _exclude(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert message.worker is not None
    if campaign.policy.exclude_by == "block":
        crowd.block(message.worker.worker_id, reason=message.reason)
    else:
        crowd.exclude(message.worker.worker_id, exclusion_id=campaign.exclusion_id)
    return Outcome(message)


def _restore(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert message.worker is not None
    if campaign.policy.exclude_by == "block":
        crowd.unblock(message.worker.worker_id, reason=message.reason)
    else:
        crowd.restore(message.worker.worker_id, exclusion_id=campaign.exclusion_id)
    return Outcome(message)


def _know(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    worker = message.worker
    assert worker is not None
    crowd.grant(worker.worker_id, qualification_id=campaign.known_id, value=worker.pk)
    return Outcome(message)


def _train(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    worker = message.worker
    assert worker is not None
    score = known.scores[worker.pk]
    crowd.grant(worker.worker_id, qualification_id=campaign.qualified_id, value=score)
    return Outcome(message)


def _lifetime(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert message.hit is not None
    assert message.hit.crowd_id is not None
    assert message.expires_at is not None
    crowd.set_expiration(message.hit.crowd_id, message.expires_at)
    return Outcome(message, expires_at=message.expires_at)


def _bonus(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assignment, worker = message.assignment, message.worker
    assert assignment is not None
    assert worker is not None
    cents, reason = message.cents, message.reason
    if not (
        is_forgotten(message, now)
        and crowd.bonus_paid(assignment.crowd_id, cents=cents, reason=reason)
    ):
        crowd.bonus(
            worker.worker_id, assignment.crowd_id, cents=cents, reason=reason, token=message.token
        )
    return Outcome(message)


def _notify(
    message: OutboxMessage, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    worker = message.worker
    assert worker is not None
    subject = f"Your work: {campaign.policy.title}"[:SUBJECT_LENGTH]
    crowd.notify(worker.worker_id, subject=subject, text=message.reason, token=message.token)
    return Outcome(message)


_CALLS: Mapping[
    OutboxMessage.Kind, Callable[[OutboxMessage, Campaign, Crowd, Known, datetime], Outcome]
] = {
    OutboxMessage.Kind.CREATE: _create,
    OutboxMessage.Kind.EXTEND: _extend,
    OutboxMessage.Kind.APPROVE: _decide,
    OutboxMessage.Kind.REJECT: _decide,
    OutboxMessage.Kind.EXCLUDE: _exclude,
    OutboxMessage.Kind.RESTORE: _restore,
    OutboxMessage.Kind.KNOW: _know,
    OutboxMessage.Kind.TRAIN: _train,
    OutboxMessage.Kind.LIFETIME: _lifetime,
    OutboxMessage.Kind.BONUS: _bonus,
    OutboxMessage.Kind.OVERTURN: _overturn,
    OutboxMessage.Kind.NOTIFY: _notify,
}
