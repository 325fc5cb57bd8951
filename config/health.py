"""`python -m config.health NAME`, a process of the Procfile: exit status 0 if that is well.

Run beside the process, in its environment.
"""

import argparse
import os
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

from celery.app.base import Celery
from celery.utils.nodenames import default_nodename, host_format
from django.conf import settings

from config import celery, gunicorn

PATIENCE_SECONDS = 5
MOST_BEATS_LATE = 3


def web() -> bool:
    """It answers and reaches its database."""
    port = gunicorn.bind.rpartition(":")[2]
    try:
        url = f"http://127.0.0.1:{port}/health"
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS):
            return True
    except OSError:
        return False


def worker() -> bool:
    name = worker_name(os.environ.get("CELERY_WORKER_HOSTNAME"))
    return is_listening(celery, name, seconds=PATIENCE_SECONDS)


def queue_worker(name: str) -> bool:
    """One that the Procfile names, with a queue of its own."""
    return is_listening(celery, str(host_format(f"{name}@%h")), seconds=PATIENCE_SECONDS)


def worker_name(chosen: str | None) -> str:
    return str(host_format(chosen or default_nodename("")))


def is_listening(app: Celery, name: str, *, seconds: float) -> bool:
    """Whether the worker of that name, not another one, hears its broker."""
    try:
        return bool(app.control.ping(destination=[name], timeout=seconds))
    except app.connection_for_write().connection_errors:
        return False


def beat() -> bool:
    """It writes down each beat, some formats under several names."""
    schedule = Path(settings.CELERY_BEAT_SCHEDULE_FILENAME)
    written = [path.stat().st_mtime for path in schedule.parent.glob(f"{schedule.name}*")]
    late = MOST_BEATS_LATE * settings.PASS_SECONDS + PATIENCE_SECONDS
    return bool(written) and time.time() - max(written) < late


CHECKS: dict[str, Callable[[], bool]] = {
    "web": web,
    "worker": worker,
    "jobs": partial(queue_worker, "jobs"),
    "encoder": partial(queue_worker, "encoder"),
    "beat": beat,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m config.health")
    parser.add_argument("process", choices=CHECKS)
    return 0 if CHECKS[parser.parse_args().process]() else 1


if __name__ == "__main__":
    sys.exit(main())
