import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from annotation.crowd.emulator.server import Server
from tests.annotation.emulator.turk import SESSION, Clock, Turk, Worker

Starter = Callable[..., Turk]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts emulators in threads of this process: `start()`, `start(balance_cents=100)`."""
    running: list[tuple[Server, threading.Thread, Turk]] = []

    def starter(**options: int) -> Turk:
        clock = Clock()
        state = tmp_path / f"turk{len(running)}.sqlite3"
        server = Server(state=state, clock=clock, **options)  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run)
        thread.start()
        turk = Turk(server.url, state, clock, SESSION.client("mturk", endpoint_url=server.url))
        running.append((server, thread, turk))
        return turk

    yield starter
    for server, thread, turk in running:
        turk.close()
        server.stop()
        thread.join()


@pytest.fixture
def turk(start: Starter) -> Turk:
    return start()


@pytest.fixture
def ada(turk: Turk) -> Worker:
    """Careful."""
    return turk.worker("AADA")


@pytest.fixture
def bob(turk: Turk) -> Worker:
    """Careless."""
    return turk.worker("ABOB")


@pytest.fixture
def eve(turk: Turk) -> Worker:
    """A spammer without a standing."""
    return turk.worker("AEVE", masters=False, percent=60, approved=3)
