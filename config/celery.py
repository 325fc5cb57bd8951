"""The Celery app: Celery is the clock, the database is the queue."""

import os

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("quorum")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["annotation", "retrieval"], related_name="jobs.tasks")
app.autodiscover_tasks(["exports"], related_name="building.tasks")
app.autodiscover_tasks(["exports"], related_name="experiments.tasks")


@setup_logging.connect
def _leave_logging_to_django(**_: object) -> None:
    """That somebody listens keeps Celery from its own: QUORUM_LOG_LEVEL holds everywhere."""
