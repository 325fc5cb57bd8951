import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from annotation.crowd.emulator.http.server import Server
from tests.annotation.crowd.emulator.turk import SESSION, Clock, Turk, Worker

Starter = Callable[..., Turk]


@contextmanager
def running(state: Path, **options: Any) -> Iterator[Turk]:
    """An emulator in a thread of this process."""
    clock = Clock()
    server = Server(state=state, clock=clock, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    turk = Turk(server.url, state, clock, SESSION.client("mturk", endpoint_url=server.url))
    try:
        yield turk
    finally:
        turk.close()
        server.stop()
        thread.join()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """`start()`, or `start(balance_cents=100)`: each call another emulator."""
    with ExitStack() as stack:

        def starter(**options: int) -> Turk:
            state = tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite3"
            return stack.enter_context(running(state, **options))

        yield starter


@pytest.fixture
def turk(start: Starter) -> Turk:
    return start()


@pytest.fixture(scope="module")
def idle_turk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turk]:
    """For tests whose requests are all refused: they can share one."""
    with running(tmp_path_factory.mktemp("idle") / "state.sqlite3") as turk:
        yield turk
        assert turk.rows("SELECT 1 FROM hit_types") == []


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
    """A spammer without a status."""
    return turk.worker("AEVE", masters=False, percent=60, approved=3)
