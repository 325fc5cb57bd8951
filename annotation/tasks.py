"""Celery is the clock: each task finds its work in the database and may be lost or run twice."""

import logging

from celery import shared_task

from annotation.crowd.base import CrowdError
from annotation.crowd.open import open_crowd
from annotation.models import Campaign, Triplet
from annotation.pipeline.advance import advance
from retrieval.errors import UserError

log = logging.getLogger(__name__)


@shared_task
def advance_campaigns() -> None:
    """One pass over every published campaign that still waits for votes or calls."""
    waiting = Campaign.objects.exclude(endpoint="").filter(triplets__status=Triplet.Status.OPEN)
    for campaign in waiting.distinct():
        advance_campaign.delay(campaign.pk)


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
