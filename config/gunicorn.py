"""How the site is served: here, in docker-compose.yml and in the demo alike."""

import os
from typing import Any

from django.conf import settings

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
control_socket_disable = True  # it would lie in the home folder, shared by all checkouts


def when_ready(server: Any) -> None:
    if not bind.startswith(settings.SOCKETS):
        print(f"Open {settings.PUBLIC_URL}", flush=True)
