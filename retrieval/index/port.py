"""The port of a vector index: one contract, and an adapter for each of IndexKind.

An index finds rows of a VectorStore by inner product. It may round and approximate: what it finds
is scored again from the store in `retrieval.index.rescore`, where the rules of a ranking are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors


@dataclass(frozen=True)
class Neighbours:
    """Rows near each query, queries x width, nearest first; -1 and -inf where there are fewer."""

    positions: Positions
    scores: NDArray[np.float32]
    # What a score of an exact kind may be off by.
    margin: float = 0.0


def rounding_error(dimension: int) -> float:
    """The most that a sum of so many products may be off by in float32, in whatever order.

    Of vectors of length 1; twice the bound of the theory.
    """
    return dimension * 2.0**-23


class VectorIndex(Protocol):
    kind: ClassVar[str]
    # True: no allowed row that `search` leaves out scores higher than the last one found, up to
    # `Neighbours.margin`; and where it finds fewer than asked for, there are no more.
    exact: ClassVar[bool]

    @property
    def parameters(self) -> Mapping[str, object]:
        """What `load` and a reader of the manifest need to know."""

    @classmethod
    def build(cls, store: VectorStore, parameters: Mapping[str, object]) -> Self: ...

    def add(self, store: VectorStore) -> None:
        """`store` is the one of before with shards more at its end: take their rows in."""

    def remove(self, positions: Positions) -> None:
        """Rows never found again; others keep their positions."""

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        """`excluded`: rows that must not be found, a flag for each position of the store."""

    def save(self, folder: Path) -> None:
        """Writes files of its own into the folder; none where the store is all it needs."""

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self: ...
