"""How the site is served: here, in docker-compose.yml and in the demo alike."""

import os
import sys
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection

from config.environment import from_one

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
bind = settings.BIND
worker_class = "gthread"
workers = from_one("QUORUM_WEB_WORKERS", most=1000)
threads = 4
# Persistent connections: without them, opening one costs more than the page itself.
keepalive = 30
limit_request_line = 8190  # the most there is: a question in Chinese takes nine bytes a character
preload_app = True
CREATE_ACCOUNT = f"QUORUM_DATA={settings.DATA_DIR} {sys.executable} manage.py createsuperuser"
control_socket_disable = True  # it would lie in the home folder, shared by all checkouts


def post_worker_init(worker: Any) -> None:
    """Below what the processes say when they start; for the first of them alone."""
    if worker.age == 1 and not bind.startswith(settings.SOCKETS):
        print("\n".join(banner()), flush=True)
        connection.close()  # each thread that serves has its own


def banner() -> list[str]:
    address = f"Open {settings.PUBLIC_URL}"
    return [address] if _has_accounts() else [address, f"No account yet? Run: {CREATE_ACCOUNT}"]


def _has_accounts() -> bool:
    """What the database cannot tell needs no word here."""
    try:
        return bool(get_user_model().objects.exists())
    except DatabaseError:
        return True
