"""Celery is the clock: each task finds its work in the database and may be lost or run twice."""

import logging
import uuid
from collections.abc import Callable
from datetime import timedelta

from celery import Task, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from annotation.analytics.campaign.snapshots import take, take_after_a_pass
from annotation.crowd.factory import PROVIDERS, open_crowd
from annotation.crowd.port import CrowdError
from annotation.jobs import mails  # noqa: F401 - Celery finds its task by this module
from annotation.jobs.blockers import note_blocked
from annotation.jobs.handlers import HANDLERS
from annotation.models import (
    Assignment,
    Campaign,
    ChangedHit,
    Condition,
    Event,
    Hit,
    OutboxMessage,
    Request,
    Triplet,
)
from annotation.models.access import KEPT_ANSWERS
from annotation.notifications.deliver import deliver as deliver_all
from annotation.notifications.digest import note_new_work
from annotation.notifications.turk import take_turk_events
from annotation.operations.campaigns import forget_old_queries
from annotation.operations.registry import LONG_OPERATIONS
from annotation.pipeline.advance import advance
from annotation.pipeline.outbox.claims import UNSENT, lapsed
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.completion import complete
from annotation.pipeline.publishing.crowd_setup import check_endpoint
from annotation.pipeline.publishing.outlook import OPEN
from annotation.pipeline.reconcile.hits import KEPT
from annotation.pipeline.reconcile.run import reconcile
from core.errors import UserError
from core.log_context import about
from retrieval.jobs.import_files import tidy_uploads
from retrieval.jobs.queue import JobLost, run, waiting_jobs

log = logging.getLogger(__name__)

# A pass that found no free worker until then is made up for by the next one.
EXPIRES = max(60.0, settings.PASS_SECONDS)
# Then a task ends by itself, before it is killed; the next one goes on where it was.
SOFT_LIMIT = settings.CELERY_TASK_TIME_LIMIT - 300
MANY_CALLS = 200  # that wait: worth the while of another worker
FULL_SECONDS = timedelta(days=1).total_seconds()
# Of the database: two passes may want the same rows in another order; one of them goes on later.
FAULTS = (CrowdError, UserError, SoftTimeLimitExceeded, OperationalError)


@shared_task(name="quorum.advance_campaigns")
def advance_campaigns() -> None:
    """One pass over every published campaign that still waits for votes, calls or decisions."""
    for campaign in _waiting():
        advance_campaign.apply_async((campaign.pk,), expires=EXPIRES)


@shared_task(name="quorum.advance_campaign", soft_time_limit=SOFT_LIMIT)
def advance_campaign(campaign_id: int) -> None:
    campaign = Campaign.objects.get(pk=campaign_id)
    with about(campaign=campaign):
        try:
            # A campaign's endpoint was confirmed by hand when it was first published.
            result = advance(campaign, open_crowd(campaign.policy.crowd, live=True))
        except FAULTS as error:
            _warn(campaign, error)
        else:
            log.info("campaign %s: %s", campaign, result)
            _take_figures(campaign, take_after_a_pass)
            _take_figures(campaign, note_blocked)


@shared_task(name="quorum.deliver_campaigns")
def deliver_campaigns() -> None:
    """Where many calls wait, the workers that are free share them with the one at the pass.

    They also make those of a process that died.
    """
    unsent = OutboxMessage.objects.filter(campaign=OuterRef("pk"), state__in=UNSENT)
    rests = Campaign.State.PAUSED, Campaign.State.CANCELLED
    many = Exists(unsent[MANY_CALLS - 1 : MANY_CALLS]) & ~Q(state__in=rests)
    for campaign in _published().filter(many | Exists(unsent.filter(lapsed(timezone.now())))):
        deliver_campaign.apply_async((campaign.pk,), expires=EXPIRES)


@shared_task(name="quorum.deliver_campaign", soft_time_limit=SOFT_LIMIT)
def deliver_campaign(campaign_id: int) -> None:
    campaign = Campaign.objects.get(pk=campaign_id)
    with about(campaign=campaign):
        try:
            crowd = open_crowd(campaign.policy.crowd, live=True)  # confirmed by hand, as above
            check_endpoint(campaign, crowd)
            result = deliver(campaign, crowd)
        except FAULTS as error:
            _warn(campaign, error)
        else:
            log.info("campaign %s: %s", campaign, result)


@shared_task(name="quorum.reconcile_campaigns")
def reconcile_campaigns(*, full: bool = False) -> None:
    """Campaigns that wait for something; in full, all whose HITs the crowd still keeps."""
    kept = Hit.objects.filter(
        campaign=OuterRef("pk"), published_at__gte=timezone.now() - KEPT, crowd_id__isnull=False
    )
    expires = FULL_SECONDS if full else settings.RECONCILE_SECONDS
    for campaign in _published().filter(Exists(kept)) if full else _waiting():
        reconcile_campaign.apply_async((campaign.pk,), {"full": full}, expires=expires)


@shared_task(name="quorum.reconcile_campaign", soft_time_limit=SOFT_LIMIT)
def reconcile_campaign(campaign_id: int, *, full: bool = False) -> None:
    campaign = Campaign.objects.get(pk=campaign_id)
    with about(campaign=campaign):
        try:
            # Confirmed by hand, as above.
            report = reconcile(campaign, open_crowd(campaign.policy.crowd, live=True), full=full)
        except FAULTS as error:
            _warn(campaign, error)
            return
        for sentence in (*report.done, *report.manual):
            with about(hit=sentence.hit):
                log.warning("campaign %s: %s", campaign, sentence)
        if report.stopped_by:
            log.warning("campaign %s: the comparison ended early: %s", campaign, report.stopped_by)


def _published() -> QuerySet[Campaign]:
    return Campaign.objects.exclude(endpoint="").order_by("pk")


def _waiting() -> QuerySet[Campaign]:
    """Whatever their state: work that was asked for is taken in, decided and paid."""
    calls = OutboxMessage.objects.filter(campaign=OuterRef("pk"), state__in=UNSENT)
    unreviewed = Assignment.objects.filter(hit__campaign=OuterRef("pk"), passed=None)
    votes = Triplet.objects.filter(campaign=OuterRef("pk"), status=Triplet.Status.OPEN)
    wanted = Q(Exists(votes)) & ~Q(state=Campaign.State.CANCELLED)
    # Money is reserved as long as somebody may submit something; some HITs cost none.
    expected = Q(account__reserved_cents__gt=0) | Exists(_free_of_charge())
    changed = Exists(ChangedHit.objects.filter(hit__campaign=OuterRef("pk")))
    said = Condition.objects.filter(campaign=OuterRef("pk"), type=Event.Type.COMPLETE)
    untold = complete() & ~Exists(said)
    unrest = Exists(calls) | Exists(unreviewed)
    for provider in PROVIDERS.values():
        unrest |= Q(hit_type_id__in=provider.studies.restless())
    return _published().filter(expected | wanted | changed | untold | unrest)


def _free_of_charge() -> QuerySet[Hit]:
    """Of a campaign: its HITs that cost nothing and of which a place may still be submitted."""
    hits = Hit.objects.filter(OPEN, campaign=OuterRef("pk"), price_cents=0)
    return hits.exclude(crowd_id=None)


def _take_figures(campaign: Campaign, count: Callable[[Campaign], object]) -> None:
    """What was done stands, even if counting fails: the figures are counted again later."""
    try:
        count(campaign)
    except FAULTS as error:
        _warn(campaign, error)


def _warn(campaign: Campaign, error: Exception) -> None:
    reason = "its time is up" if isinstance(error, SoftTimeLimitExceeded) else error
    log.warning("campaign %s: %s", campaign, reason)


@shared_task(name="quorum.run_jobs")
def run_jobs() -> None:
    """Every job that nobody is at."""
    for job in waiting_jobs():
        run_job.apply_async((job.pk,), expires=EXPIRES)


@shared_task(name="quorum.run_job", soft_time_limit=SOFT_LIMIT)
def run_job(job_id: int) -> None:
    with about(job=job_id):
        try:
            job = run(job_id, uuid.uuid4().hex, HANDLERS)
        except (JobLost, SoftTimeLimitExceeded, OperationalError) as error:
            log.warning("job %s: %s", job_id, error or type(error).__name__)
        else:
            if job is not None:
                log.info("job %s: %s %s", job.pk, job, job.error or job.result)
                operation = LONG_OPERATIONS.get(job.kind)
                # One that failed may have moved something before.
                if operation and operation.logged and job.is_over:
                    campaign = Campaign.objects.get(name=job.subject)
                    with about(campaign=campaign):
                        # At once: before it is published no pass follows that would.
                        _take_figures(campaign, take)


@shared_task(name="quorum.deliver_events", soft_time_limit=SOFT_LIMIT)
def deliver_events() -> None:
    """To webhooks and by mail, whatever is due."""
    note_new_work(timezone.now())
    take_turk_events()
    if sent := deliver_all():
        log.info("%s deliveries of events", sent)


@shared_task(name="quorum.tidy", soft_time_limit=SOFT_LIMIT)
def tidy() -> None:
    """What nobody asks for any more: answers of the API, files that were sent."""
    Request.objects.filter(created_at__lt=timezone.now() - KEPT_ANSWERS).delete()
    tidy_uploads()
    forget_old_queries()


def soon(task: "Task[[int], None]", key: int) -> None:
    """After the transaction; where the queue is away, the next pass finds the work by its state."""

    def send() -> None:
        try:
            task.apply_async((key,), expires=EXPIRES, retry=False)
        except BrokerError as error:
            log.warning("the queue is away, the next pass takes it up: %s", error)

    transaction.on_commit(send)
