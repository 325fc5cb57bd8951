"""How the site is served: here, in docker-compose.yml and in the demo alike."""

import os

bind = os.environ.get("QUORUM_BIND", "127.0.0.1:8000")
worker_class = "gthread"
workers = int(os.environ.get("QUORUM_WEB_WORKERS", "1"))
threads = 4
# Persistent connections: a page costs a quarter of what it costs without (DESIGN, section 5).
keepalive = 30
preload_app = True
