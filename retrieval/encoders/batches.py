"""Which texts are read together: sorted by length, so that a batch is hardly padded."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

# Positions in what was asked for.
Rows = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True)
class Batch:
    rows: Rows
    features: Mapping[str, Any]  # what the model reads: arrays of rows x tokens


def packed(lengths: NDArray[np.int64], budget: int) -> list[Rows]:
    """Longest first, in batches of at most `budget` tokens, padding counted; a longer one alone."""
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        size = max(1, budget // longest)
        batches.append(order[start : start + size])
        start += size
    return batches


def ahead(items: Iterable[T], depth: int) -> Iterator[T]:
    """The same items, made by a thread while those before are used."""
    source = iter(items)
    thread = ThreadPoolExecutor(1)
    try:
        waiting: list[Future[T | None]] = [thread.submit(next, source, None) for _ in range(depth)]
        while (item := waiting.pop(0).result()) is not None:
            waiting.append(thread.submit(next, source, None))
            yield item
    finally:
        thread.shutdown(cancel_futures=True)
