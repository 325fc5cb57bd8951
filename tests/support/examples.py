"""How many examples are tried: few in `make test`, all in `make test-examples`.

Where `tests/conftest.py` loads no profile, as in `make mutants` for the protocol: all.
"""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")

settings.register_profile("thorough", max_examples=100, deadline=None)
settings.register_profile("fast", max_examples=20, deadline=None)


def examples(thorough: int, *, fast: int | None = None) -> int:
    """A number of the thorough profile, cut as the profile of this run cuts it, or to `fast`."""
    if fast is not None and settings().max_examples < 100:
        return fast
    return max(1, thorough * settings().max_examples // 100)


def cases(every: Sequence[T], few: Sequence[T]) -> Sequence[T]:
    """Of tests that are marked `hypothesis` themselves: the few stand for the rest."""
    return every if settings().max_examples == 100 else few
