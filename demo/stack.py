"""Quorum on this machine alone: the emulator and the site on loopback, and `manage.py` on them."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class StackError(Exception):
    """Why it cannot go on, in one sentence."""


@dataclass(frozen=True)
class Ran:
    """What one command took."""

    seconds: float
    peak_mb: float


class LocalStack:
    """One data folder with its servers and commands."""

    def __init__(self, data: Path) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self.data = data
        self.ports = _remembered_ports(data / "ports.json")
        self.environment = os.environ | {
            "QUORUM_DATA": str(data),
            "QUORUM_PUBLIC_URL": f"http://127.0.0.1:{self.ports['site']}",
            "QUORUM_BIND": f"127.0.0.1:{self.ports['site']}",
            "AWS_ENDPOINT_URL_MTURK": f"http://127.0.0.1:{self.ports['emulator']}",
        }

    def manage(self, *arguments: object) -> Ran:
        """Run one command as a user would, its output and progress bars in full sight."""
        command = [str(argument) for argument in arguments]
        print(f"\n$ manage.py {' '.join(command)}", flush=True)
        began = time.monotonic()
        process = self._start([sys.executable, "manage.py", *command])
        _, status, usage = os.wait4(process.pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            raise StackError(f"`manage.py {' '.join(command)}` ended with {code}")
        return Ran(time.monotonic() - began, usage.ru_maxrss / 1024)

    def result(self, *arguments: object) -> dict[str, Any] | None:
        """What a command answers under --json; None where it refuses."""
        command = [sys.executable, "manage.py", *map(str, arguments), "--json"]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, check=False, capture_output=True, text=True
        )
        return dict(json.loads(done.stdout)) if done.returncode == 0 else None

    @contextmanager
    def servers(self) -> Iterator[None]:
        """The emulator and the site while the block runs; their output goes to logs."""
        with self._emulator(), self._site():
            yield

    @contextmanager
    def _emulator(self) -> Iterator[None]:
        port, state = self.ports["emulator"], self.data / "emulator.sqlite3"
        options = ["--port", str(port), "--state", str(state), "--balance", "10000000"]
        command = [sys.executable, "manage.py", "mturk_emulator", *options]
        with self._server("emulator", command, f"http://127.0.0.1:{port}/"):
            yield

    @contextmanager
    def _site(self) -> Iterator[None]:
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "-c", "config/gunicorn.py"]
        with self._server("site", command, f"http://127.0.0.1:{self.ports['site']}/health"):
            yield

    @contextmanager
    def _server(self, name: str, command: list[str], url: str) -> Iterator[None]:
        log = self.data / f"{name}.log"
        with log.open("ab") as output:
            process = self._start(command, stdout=output, stderr=output)
            try:
                _wait_until_up(process, name, url, log)
                yield
            finally:
                process.terminate()
                process.wait(timeout=30)

    def _start(self, command: list[str], **streams: Any) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, **streams)


def _remembered_ports(path: Path) -> dict[str, int]:
    """Free ports, chosen once: published HITs name them."""
    if not path.exists():
        # Both are held at once: they must not be the same.
        servers = [socket.create_server(("127.0.0.1", 0)) for _ in ("emulator", "site")]
        ports = dict(zip(("emulator", "site"), (s.getsockname()[1] for s in servers), strict=True))
        for server in servers:
            server.close()
        path.write_text(json.dumps(ports))
    return dict(json.loads(path.read_text()))


def _wait_until_up(process: "subprocess.Popen[bytes]", name: str, url: str, log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise StackError(f"the {name} at {url} did not start: see the end of {log}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise StackError(f"the {name} at {url} does not answer: see the end of {log}")
