from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.annotation.crowd.prolific.world import Prolific, running

Start = Callable[..., Prolific]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start()`, or `start(undo=True)`: each call another emulator, by its readings."""
    with ExitStack() as stack:

        def starter(**options: Any) -> Prolific:
            state = tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite3"
            return stack.enter_context(running(state, **options))

        yield starter


@pytest.fixture
def prolific(start: Start) -> Prolific:
    return start()
