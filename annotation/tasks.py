"""Celery is the clock: each task finds its work in the database and may be lost or run twice."""

import logging

from celery import shared_task
from django.db.models import Exists, OuterRef

from annotation.crowd.base import CrowdError
from annotation.crowd.open import open_crowd
from annotation.models import Campaign, Intent, Triplet
from annotation.pipeline.advance import advance
from retrieval.errors import UserError

log = logging.getLogger(__name__)

EXPIRES = 60  # seconds: a pass that found no free worker is made up for by the next one


@shared_task
def advance_campaigns() -> None:
    """One pass over every published campaign that still waits for votes or calls."""
    votes = Triplet.objects.filter(campaign=OuterRef("pk"), status=Triplet.Status.OPEN)
    calls = Intent.objects.filter(
        campaign=OuterRef("pk"), state__in=[Intent.State.PENDING, Intent.State.CLAIMED]
    )
    for campaign in Campaign.objects.exclude(endpoint="").filter(Exists(votes) | Exists(calls)):
        advance_campaign.apply_async((campaign.pk,), expires=EXPIRES)


@shared_task
def advance_campaign(campaign_id: int) -> None:
    campaign = Campaign.objects.get(pk=campaign_id)
    try:
        # A campaign's endpoint was confirmed by hand when it was first published.
        result = advance(campaign, open_crowd(live=True))
    except (CrowdError, UserError) as error:
        log.warning("campaign %s: %s", campaign, error)
    else:
        log.info("campaign %s: %s", campaign, result)
