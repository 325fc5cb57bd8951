"""A worker in the settings of the Procfile's, whose encoder counts keywords.

`celery --app tests.retrieval.indexing.keyword_worker worker --queues encoding`; with KILLED_ONCE
it is
killed in the middle of the first row that it takes up.
"""

import os
import signal
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import django
from celery import Celery
from django.conf import settings

from core.progress import Progress, no_progress
from retrieval.vectors.types import Vectors
from tests.retrieval.encoders.keywords import KeywordEncoder

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()
# Of its own: Quorum's knows the tasks of releases too, which take seconds to import.
app = Celery("quorum")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Else it looks into the folder of messages once a second, for one of them.
app.conf.broker_transport_options["polling_interval"] = 0.05

from core import leases  # noqa: E402
from retrieval.jobs import tasks  # noqa: E402

KEYWORDS = "rain snow hail"


class DyingEncoder(KeywordEncoder):
    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        vectors = super().encode_questions(questions, progress)
        killed = Path(settings.DATA_DIR / "killed")
        if "KILLED_ONCE" in os.environ and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return vectors


leases.STALE = timedelta(seconds=6)  # a beat on a busy machine may be seconds late
tasks._encoder = lambda model, precision: DyingEncoder(KEYWORDS)  # type: ignore[assignment]
