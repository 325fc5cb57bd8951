"""Quorum on this machine alone: the emulator and the site on loopback, and `manage.py` on them."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# What could lead a command out of this machine: databases, brokers, accounts, other settings.
OUTSIDE = ("QUORUM_", "AWS_", "CELERY_", "DJANGO_", "GUNICORN_")
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
SECONDS_TO_FREE_A_PORT = 10  # what the servers of a killed run need to end


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
        data = data.resolve()
        data.mkdir(parents=True, exist_ok=True)
        self.data = data
        self.ports = _remembered_ports(data / "ports.json")
        self.environment = without_outside(os.environ) | {
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
        port, state = self.ports["emulator"], self.data / "mturk_emulator.sqlite3"
        options = ["--port", str(port), "--state", str(state), "--balance", "10000000"]
        command = [sys.executable, "manage.py", "mturk_emulator", *options]
        with self._server("emulator", command, "/"):
            yield

    @contextmanager
    def _site(self) -> Iterator[None]:
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "-c", "config/gunicorn.py"]
        with self._server("site", command, "/health"):
            yield

    @contextmanager
    def _server(self, name: str, command: list[str], path: str) -> Iterator[None]:
        port, log = self.ports[name], self.data / f"{name}.log"
        _wait_until_free(port, name)
        with log.open("ab") as output:
            process = self._start(command, stdout=output, stderr=output)
            try:
                _wait_until_up(process, name, f"http://127.0.0.1:{port}{path}", log)
                yield
            finally:
                process.terminate()
                process.wait(timeout=30)

    def _start(self, command: list[str], **streams: Any) -> "subprocess.Popen[bytes]":
        parent = os.getpid()
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            preexec_fn=lambda: _die_with(parent),
            **streams,
        )


def without_outside(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment less every variable that names something outside this machine."""
    return {name: value for name, value in environment.items() if not name.startswith(OUTSIDE)}


def _die_with(parent: int) -> None:
    """In the child: even a parent killed by SIGKILL leaves no server behind (on Linux)."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it was gone before the kernel knew
            os.kill(os.getpid(), signal.SIGTERM)


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


def _wait_until_free(port: int, name: str) -> None:
    """Raises StackError where another program listens: it must not pass for the server."""
    for _ in range(SECONDS_TO_FREE_A_PORT * 10):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise StackError(
        f"another program listens on port {port}, which the {name} needs because the HITs name "
        "it: end that program, then run this again"
    )


def _wait_until_up(process: "subprocess.Popen[bytes]", name: str, url: str, log: Path) -> None:
    for _ in range(300):
        answered = _answers(url)
        # Looked at after the answer: whoever gave it, the server has to be there.
        if process.poll() is not None:
            raise StackError(f"the {name} at {url} did not start: see the end of {log}")
        if answered:
            return
        time.sleep(0.1)
    raise StackError(f"the {name} at {url} does not answer: see the end of {log}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False
