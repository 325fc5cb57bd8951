"""A training that ends in the middle of an epoch."""

from collections.abc import Callable

import pytest

from core.progress import Progress


class Killed(BaseException):
    """What a SIGKILL leaves on the disk, without the time that a process of its own takes."""


def killed(run: Callable[[Progress], object], *, after: int) -> None:
    """`run` is given a progress that ends it after so many steps."""
    steps = 0

    def step(count: int) -> None:
        nonlocal steps
        steps += count
        if steps == after:
            raise Killed

    with pytest.raises(Killed):
        run(step)
