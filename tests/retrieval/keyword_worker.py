"""A worker as the Procfile starts it, whose encoder counts keywords.

`celery --app tests.retrieval.keyword_worker worker --queues encoding`; with KILLED_ONCE it is
killed in the middle of the first row that it takes up.
"""

import os
import signal
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import django
from django.conf import settings

from config import celery
from retrieval.progress import Progress, no_progress
from retrieval.vectors import Vectors
from tests.retrieval.keywords import KeywordEncoder

django.setup()
app = celery
app.loader.import_default_modules()  # type: ignore[attr-defined]

from retrieval import claims, tasks  # noqa: E402  (models need the set-up)

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


claims.STALE = timedelta(seconds=3)
tasks._encoder = lambda model, precision: DyingEncoder(KEYWORDS)  # type: ignore[assignment]
