"""Celery is the clock: each build is found in the database and may be lost or run twice."""

import logging

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from core.errors import UserError
from core.leases import free
from exports.building.lease import BuildLost
from exports.building.queue import build_queued
from exports.building.requests import recover
from exports.models import Build

log = logging.getLogger(__name__)

# A build that found no free worker until then is asked for again by the next pass.
EXPIRES = max(60.0, settings.PASS_SECONDS)
# Then a task ends by itself, before it is killed.
SOFT_LIMIT = settings.CELERY_TASK_TIME_LIMIT - 300
# Whatever else goes wrong is Celery's to log; the build waits for its next turn all the same.
FAULTS = (UserError, BuildLost, SoftTimeLimitExceeded, OperationalError)


@shared_task(name="quorum.build_releases")
def build_releases() -> None:
    """Every build that nobody is at."""
    recover()
    for build in Build.objects.filter(free(timezone.now())).order_by("pk"):
        build_release.apply_async((build.pk,), expires=EXPIRES)


@shared_task(name="quorum.build_release", soft_time_limit=SOFT_LIMIT)
def build_release(build_id: int) -> None:
    try:
        released = build_queued(build_id)
    except FAULTS as error:
        log.warning("build %s: %s", build_id, error or type(error).__name__)
    else:
        log.info("build %s: %s", build_id, released)
