"""Looks at the ports before `make run` starts; prints what its shell is to know.

Where the site cannot listen: one sentence, and status 2. The emulator is left out where its port is
taken, for a campaign of a team needs none.
"""

import errno
import json
import os
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

SITE, EMULATOR = "QUORUM_BIND", "AWS_ENDPOINT_URL_MTURK"
SOCKETS = ("unix:", "fd://")


def main(folder: Path) -> int:
    bind = os.environ.get(SITE) or "127.0.0.1:8000"
    try:
        if not bind.startswith(SOCKETS):
            _try_to_listen(bind)
    except (OSError, ValueError, OverflowError) as error:
        print(f"Error: {_refusal(bind, error)}", file=sys.stderr)
        return 2
    if url := _emulator_of(folder):
        print(f"export {EMULATOR}={url}")
    print(f"emulator={_process(url or os.environ.get(EMULATOR, ''))}")
    return 0


def _refusal(bind: str, error: Exception) -> str:
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        return (
            f"Port {urlsplit(f'//{bind}').port or 8000} is in use, perhaps by another Quorum. "
            f"Stop it, or choose another one: {SITE}=127.0.0.1:8123 make run"
        )
    return (
        f"{SITE} is {bind!r}, where the site cannot listen ({error}): "
        "it must look like 127.0.0.1:8000."
    )


def _emulator_of(folder: Path) -> str:
    """Where the demo's campaign is published, if the folder is the demo's."""
    ports = folder / "ports.json"
    if EMULATOR in os.environ or not ports.is_file():
        return ""
    return f"http://127.0.0.1:{json.loads(ports.read_text())['emulator']}"


def _process(url: str) -> str:
    """The Procfile's, or nothing where it could not listen."""
    parts = urlsplit(url)
    if parts.path.startswith("/turk/"):  # the site's own Turk, to which requesters' programs post
        return ""
    here = parts.hostname in {"127.0.0.1", "localhost"}
    address = f"127.0.0.1:{(here and parts.port) or 8001}"
    try:
        _try_to_listen(address)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        print(
            f"The MTurk emulator is not started: it cannot listen on {address} ({reason}). Your "
            "own team needs none. For one, choose another port, the same in every terminal: "
            f"export {EMULATOR}=http://127.0.0.1:8002",
            file=sys.stderr,
        )
        return ""
    return "emulator"


def _try_to_listen(address: str) -> None:
    parts = urlsplit(f"//{address}")
    host = parts.hostname or ""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    port = 8000 if parts.port is None else parts.port  # 0: any that is free
    socket.create_server((host, port), family=family).close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
