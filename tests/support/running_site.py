"""The site as gunicorn serves it, in processes of its own."""

import contextlib
import http.client
import socket
import subprocess
import sys
import time
from os import environ
from pathlib import Path

from demo.processes import ROOT, dies_with_parent, without_outside

SOON = 10.0  # seconds, on a machine that does other things as well


class Site:
    def __init__(self, folder: Path, app: str, config: str, *, workers: int = 1) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
        settings = {
            "QUORUM_DATA": str(folder),
            "QUORUM_BIND": f"127.0.0.1:{self.port}",
            "QUORUM_WEB_WORKERS": str(workers),
            "PYTHONPATH": f"{ROOT}:{folder}",
        }
        command = [sys.executable, "-m", "gunicorn", app, "--config", config]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=without_outside(environ) | settings,
            stdout=subprocess.DEVNULL,
            preexec_fn=dies_with_parent(),
        )

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SOON)

    def answers(self, path: str = "/health") -> bool:
        """Whatever it says: this database has no tables."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON)
        with contextlib.closing(client):
            client.request("GET", path)
            return client.getresponse().status in (200, 503)

    def wait(self) -> "Site":
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                if self.answers():
                    return self
            time.sleep(0.1)
        raise AssertionError(f"it did not start ({self.process.poll()})")
