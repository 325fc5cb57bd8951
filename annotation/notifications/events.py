"""Events: written with what they tell of, and a delivery for each who wants to know."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from annotation.models import Campaign, Condition, Delivery, Event, Role, Webhook
from retrieval.models import Job

Type = Event.Type


def emit(
    type: Type,
    data: Mapping[str, object],
    *,
    campaign: Campaign | None = None,
    people: Iterable[User] = (),
    at: datetime | None = None,
    uid: UUID | None = None,
) -> Event:
    """In the caller's transaction: the event is there if and only if what it tells of is."""
    details = {**({"campaign": campaign.name} if campaign else {}), **data}
    event = Event.objects.create(
        uid=uid or uuid4(), type=type, data=details, campaign=campaign, at=at or timezone.now()
    )
    webhooks = Webhook.objects.filter(active=True, requester=None).order_by("pk")
    wanted = [one for one in webhooks if not one.types or type in one.types]
    Delivery.objects.bulk_create(
        [
            *(Delivery(event=event, webhook=webhook) for webhook in wanted),
            *(Delivery(event=event, account=user) for user in people),
        ]
    )
    return event


def note_condition(
    campaign: Campaign,
    type: Type,
    causes: Mapping[str, Mapping[str, object]],
    *,
    at: datetime | None = None,
) -> list[Event]:
    """Emit what has begun to hold, by its cause; forget what has ended. The campaign is locked.

    `causes`: all that hold now, each with what its event says.
    """
    rows = Condition.objects.filter(campaign=campaign, type=type)
    known = set(rows.values_list("cause", flat=True))
    if ended := known - causes.keys():
        rows.filter(cause__in=ended).delete()
    begun = {cause: data for cause, data in causes.items() if cause not in known}
    Condition.objects.bulk_create(
        Condition(campaign=campaign, type=type, cause=cause) for cause in begun
    )
    people = owners(campaign) if begun else []
    return [emit(type, data, campaign=campaign, people=people, at=at) for data in begun.values()]


def owners(campaign: Campaign) -> list[User]:
    """Superusers where it has none: a campaign that a command created has no owner of its own."""
    here = Q(roles__campaign=campaign) | Q(roles__campaign=None)
    accounts = User.objects.filter(here, roles__name=Role.Name.OWNER, is_active=True)
    superusers = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    return list(accounts.distinct().order_by("pk") or superusers)


def job_failed(job: Job) -> None:
    """By `retrieval.jobs.queue`, which knows nothing of events but this address in the settings."""
    campaign = Campaign.objects.filter(name=job.subject).first()
    data = {"job": job.pk, "kind": job.kind, "subject": job.subject, "error": job.error}
    people = [job.requested_by] if job.requested_by else []
    emit(Type.JOB, data, campaign=campaign, people=people)
