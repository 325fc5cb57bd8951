"""The Celery app: Celery is the clock, the database is the queue."""

import os

from celery import Celery
from celery.signals import setup_logging, worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("quorum")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["annotation", "retrieval"], related_name="jobs.tasks")


@setup_logging.connect
def _leave_logging_to_django(**_: object) -> None:
    """That somebody listens keeps Celery from its own: QUORUM_LOG_LEVEL holds everywhere."""


@worker_process_init.connect
def _write_for_nobody_else(**_: object) -> None:
    os.umask(0o077)
