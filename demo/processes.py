"""Child processes on loopback: started, awaited, and never left behind."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What could lead a command out of this machine: databases, brokers, accounts, other settings.
OUTSIDE = ("QUORUM_", "AWS_", "CELERY_", "DJANGO_", "GUNICORN_", "PG")
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
SECONDS_TO_FREE_A_PORT = 10  # what the servers of a killed run need to end
SECONDS_TO_START = 120

Process = subprocess.Popen[bytes]


class StackError(Exception):
    """Why it cannot go on, in one sentence."""


def without_outside(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment less every variable that names something outside this machine."""
    return {name: value for name, value in environment.items() if not name.startswith(OUTSIDE)}


def procfile() -> dict[str, list[str]]:
    """The words of each process."""
    lines = (ROOT / "Procfile").read_text(encoding="utf-8").splitlines()
    named = (line.split(": ", 1) for line in lines if line)
    return {name: command.split() for name, command in named}


def dies_with_parent(ending: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """For the child: even a parent killed by SIGKILL leaves no server behind (on Linux)."""
    parent = os.getpid()

    def in_child() -> None:
        if LIBC is not None:
            LIBC.prctl(PR_SET_PDEATHSIG, ending)
            if os.getppid() != parent:  # it was gone before the kernel knew
                os.kill(os.getpid(), ending)

    return in_child


def remembered_ports(path: Path, names: Iterable[str]) -> dict[str, int]:
    """Free ports, chosen once: what was published or printed names them."""
    if not path.exists():
        # All are held at once: no two must be the same.
        servers = {name: socket.create_server(("127.0.0.1", 0)) for name in names}
        ports = {name: server.getsockname()[1] for name, server in servers.items()}
        for server in servers.values():
            server.close()
        path.write_text(json.dumps(ports))
    return dict(json.loads(path.read_text()))


def wait_until_free(port: int, name: str) -> None:
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


def wait_until_up(process: Process, name: str, log: Path, answers: Callable[[], bool]) -> None:
    for _ in range(SECONDS_TO_START * 10):
        answered = answers()
        # Looked at after the answer: another process may have given it, this one must be there.
        if process.poll() is not None:
            raise StackError(f"the {name} did not start: see the end of {log}")
        if answered:
            return
        time.sleep(0.1)
    raise StackError(f"the {name} does not answer: see the end of {log}")


def answers_at(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False
