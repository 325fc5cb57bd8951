"""One call to the crowd for each kind of intent, safe to repeat. Nothing here writes our database.

After a day the crowd has forgotten its tokens, so its own record is asked first.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from annotation.crowd.hit_url import hit_url
from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Assignment, Campaign, Intent
from annotation.pipeline.publishing.publish import hit_type
from core.log_context import about
from core.prometheus import CROWD_CALLS

log = logging.getLogger(__name__)

TOKEN_LIFE = timedelta(hours=23)  # the crowd remembers tokens for 24 hours
SUBJECT_LENGTH = 200  # of a message; MTurk's


@dataclass(frozen=True)
class Known:
    """What was looked up before: what the crowd already has, for intents whose token it may have
    forgotten, and what workers had right in the practice round.
    """

    hits: Mapping[str, str] = field(default_factory=dict)  # our key -> the crowd's id
    places: Mapping[int, int] = field(default_factory=dict)  # HIT -> places bought before
    scores: Mapping[int, int] = field(default_factory=dict)  # worker -> percent right in practice


@dataclass(frozen=True)
class Outcome:
    """What came of a call."""

    intent: Intent
    crowd_id: str = ""  # of a HIT that is published now
    status: str = ""  # of an assignment that is decided now
    expires_at: datetime | None = None
    error: CrowdError | None = None


def is_forgotten(intent: Intent, now: datetime) -> bool:
    return intent.first_sent_at is not None and intent.first_sent_at < now - TOKEN_LIFE


def send(intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime) -> Outcome:
    """The call and what came of it, a CrowdError included."""
    hit = intent.hit or (intent.assignment and intent.assignment.hit)
    with about(campaign=campaign, hit=hit and hit.key):
        try:
            outcome = _CALLS[Intent.Kind(intent.kind)](intent, campaign, crowd, known, now)
        except CrowdError as error:
            outcome = Outcome(intent, error=error)
        log.log(_level(outcome.error), "%s: %s", intent.kind, outcome.error or "done")
    CROWD_CALLS.labels(intent.kind, _told(outcome.error)).inc()
    return outcome


def _level(error: CrowdError | None) -> int:
    """A call that is made again later may be one of thousands, and its pass tells of it."""
    if error is None:
        return logging.DEBUG
    return logging.WARNING if error.permanent else logging.INFO


def _told(error: CrowdError | None) -> str:
    if error is None:
        return "done"
    if error.throttled:
        return "throttled"
    return "refused" if error.permanent else "failed"


def _create(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    hit = intent.hit
    assert hit is not None
    lifetime = timedelta(days=campaign.policy.lifetime_days)
    crowd_id = known.hits.get(hit.key) if is_forgotten(intent, now) else None
    if crowd_id is None:
        crowd_id = crowd.create_hit(
            hit_type_id=_hit_type(intent, campaign, crowd),
            url=hit_url(hit.key),
            places=intent.places,
            lifetime_seconds=int(lifetime.total_seconds()),
            token=intent.token,
            annotation=hit.key,
        )
    return Outcome(intent, crowd_id=crowd_id, expires_at=now + lifetime)


def _hit_type(intent: Intent, campaign: Campaign, crowd: Crowd) -> str:
    """The campaign's, or for repacked triplets one that bars their earlier workers."""
    assert intent.hit is not None
    if not intent.hit.repack:
        return campaign.hit_type_id
    return crowd.create_hit_type(
        hit_type(
            campaign.policy,
            campaign.exclusion_id,
            practice_id=campaign.practice_id,
            known_id=campaign.known_id,
            barred=intent.hit.barred,
        )
    )


def _extend(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    hit = intent.hit
    assert hit is not None
    assert hit.crowd_id is not None
    if not (is_forgotten(intent, now) and _has_places(intent, crowd, known)):
        crowd.extend_hit(hit.crowd_id, extra=intent.places, token=intent.token)
    return Outcome(intent)


def _has_places(intent: Intent, crowd: Crowd, known: Known) -> bool:
    """Whether the crowd already counts the places this intent asks for."""
    assert intent.hit is not None
    assert intent.hit.crowd_id is not None
    found = crowd.hit(intent.hit.crowd_id)
    if found is None:
        raise CrowdError(f"The crowd no longer knows HIT {intent.hit.crowd_id}.", permanent=True)
    return found.max_assignments >= known.places.get(intent.hit.pk, 0) + intent.places


def _decide(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    work = intent.assignment
    assert work is not None
    try:
        if intent.kind == Intent.Kind.APPROVE:
            crowd.approve(work.crowd_id)
            return Outcome(intent, status=Assignment.Status.APPROVED)
        crowd.reject(work.crowd_id, reason=intent.reason)
        return Outcome(intent, status=Assignment.Status.REJECTED)
    except CrowdError as error:
        if not error.permanent:
            raise
        # Work that waits too long is approved by the crowd itself, and its word is final.
        status = _decided(work, crowd)
        if status == Assignment.Status.SUBMITTED:
            raise
        return Outcome(intent, status=status)


def _overturn(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert intent.assignment is not None
    crowd.overturn(intent.assignment.crowd_id)
    return Outcome(intent, status=Assignment.Status.APPROVED)


def _decided(work: Assignment, crowd: Crowd) -> str:
    """What the crowd's record says of it by now."""
    assert work.hit.crowd_id is not None
    for theirs in crowd.submissions(work.hit.crowd_id):
        if theirs.assignment_id == work.crowd_id:
            return theirs.status
    return Assignment.Status.SUBMITTED


def _exclude(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert intent.worker is not None
    if campaign.policy.exclude_by == "block":
        crowd.block(intent.worker.worker_id, reason=intent.reason)
    else:
        crowd.exclude(intent.worker.worker_id, exclusion_id=campaign.exclusion_id)
    return Outcome(intent)


def _readmit(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert intent.worker is not None
    if campaign.policy.exclude_by == "block":
        crowd.unblock(intent.worker.worker_id, reason=intent.reason)
    else:
        crowd.readmit(intent.worker.worker_id, exclusion_id=campaign.exclusion_id)
    return Outcome(intent)


def _know(intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime) -> Outcome:
    worker = intent.worker
    assert worker is not None
    crowd.grant(worker.worker_id, qualification_id=campaign.known_id, value=worker.pk)
    return Outcome(intent)


def _train(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    worker = intent.worker
    assert worker is not None
    score = known.scores[worker.pk]
    crowd.grant(worker.worker_id, qualification_id=campaign.practice_id, value=score)
    return Outcome(intent)


def _lifetime(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    assert intent.hit is not None
    assert intent.hit.crowd_id is not None
    assert intent.expires_at is not None
    crowd.set_expiration(intent.hit.crowd_id, intent.expires_at)
    return Outcome(intent, expires_at=intent.expires_at)


def _bonus(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    work, worker = intent.assignment, intent.worker
    assert work is not None
    assert worker is not None
    cents, reason = intent.cents, intent.reason
    if not (
        is_forgotten(intent, now) and crowd.bonus_paid(work.crowd_id, cents=cents, reason=reason)
    ):
        crowd.bonus(worker.worker_id, work.crowd_id, cents=cents, reason=reason, token=intent.token)
    return Outcome(intent)


def _notify(
    intent: Intent, campaign: Campaign, crowd: Crowd, known: Known, now: datetime
) -> Outcome:
    worker = intent.worker
    assert worker is not None
    subject = f"Your work: {campaign.policy.title}"[:SUBJECT_LENGTH]
    crowd.notify(worker.worker_id, subject=subject, text=intent.reason, token=intent.token)
    return Outcome(intent)


_CALLS: Mapping[Intent.Kind, Callable[[Intent, Campaign, Crowd, Known, datetime], Outcome]] = {
    Intent.Kind.CREATE: _create,
    Intent.Kind.EXTEND: _extend,
    Intent.Kind.APPROVE: _decide,
    Intent.Kind.REJECT: _decide,
    Intent.Kind.EXCLUDE: _exclude,
    Intent.Kind.READMIT: _readmit,
    Intent.Kind.KNOW: _know,
    Intent.Kind.TRAIN: _train,
    Intent.Kind.LIFETIME: _lifetime,
    Intent.Kind.BONUS: _bonus,
    Intent.Kind.OVERTURN: _overturn,
    Intent.Kind.NOTIFY: _notify,
}
