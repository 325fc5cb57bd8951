"""How a long function tells how far it is: it calls `progress` with the units just done."""

from collections.abc import Callable

Progress = Callable[[int], object]


def no_progress(increment: int) -> None:
    """The default of every function that reports progress: nobody watches."""
