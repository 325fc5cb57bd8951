"""How the site is served: here, in docker-compose.yml and in the demo alike."""

import os
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.urls import NoReverseMatch

from config.environment import from_one

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
bind = settings.BIND
worker_class = "config.web_worker.PatientWorker"
workers = from_one("QUORUM_WEB_WORKERS", most=1000)
threads = 4
preload_app = True
control_socket_disable = True  # it would lie in the home folder, shared by all checkouts


def post_worker_init(worker: Any) -> None:
    """Below what the processes say when they start; for the first of them alone."""
    if worker.age == 1 and not bind.startswith(settings.SOCKETS):
        print("\n".join(banner()), flush=True)
        connection.close()  # each thread that serves has its own


def banner() -> list[str]:
    from annotation.access import first_account  # noqa: PLC0415 - the site is set up by now

    said = [f"Open {settings.PUBLIC_URL}"]
    # Needs no word: what the database cannot tell, and a benchmark's site without such a page.
    with suppress(DatabaseError, NoReverseMatch):
        if first_account.is_wanted():
            said.append(f"Create the first account: {first_account.link()}")
    return said
