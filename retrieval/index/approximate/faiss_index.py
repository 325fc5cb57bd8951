"""What the adapters on FAISS share: one file beside the store, and a mask inside the search.

FAISS numbers rows by their order of arrival, which is the store's: its ids are positions. The same
rows make the same file, however many threads build it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import faiss
import numpy as np

from core.errors import UserError
from retrieval.index.port import Neighbours
from retrieval.index.tuning import RECALL, tune
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

HINT = "build the index again by `quorum index build`"
ROWS_AT_ONCE = 65_536


class FaissIndex(ABC):
    kind: ClassVar[str]
    exact: ClassVar[bool] = False
    faiss_class: ClassVar[type[Any]]
    tuned: ClassVar[str]  # the parameter that buys recall with time

    def __init__(self, store: VectorStore, index: Any, parameters: Mapping[str, object]) -> None:
        self.parameters = parameters
        self._store = store
        self._index = index
        self._removed = np.zeros(len(store), np.bool_)
        self._mapped: Path | None = None
        self._kept: tuple[Mask, Any] | None = None

    @classmethod
    def build(cls, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        """`parameters` may hold `recall`, and what the adapter would choose itself."""
        index, chosen = cls._trained(store, parameters)
        built = cls(store, index, chosen)
        built._take_in()
        given = cast(int | None, parameters.get(cls.tuned))
        wanted = number(parameters, "recall", RECALL)
        built.parameters = {**chosen, cls.tuned: given or built._tune(wanted)}
        return built

    def add(self, store: VectorStore) -> None:
        if self._mapped:  # FAISS ends the process where a mapped index is to grow
            self._index, self._mapped = faiss.read_index(str(self._mapped)), None
        more = np.zeros(len(store) - len(self._store), np.bool_)
        self._store, self._removed = store, np.concatenate([self._removed, more])
        self._kept = None
        self._take_in()

    def remove(self, positions: Positions) -> None:
        self._removed[positions] = True
        self._kept = None

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        params = self._search_parameters(excluded)
        scores, positions = self._index.search(queries, width, params=params)
        scores[positions < 0] = -np.inf
        return Neighbours(positions, scores)

    def save(self, folder: Path) -> None:
        faiss.write_index(self._index, str(folder / f"{self.kind}.faiss"))

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        """The file is mapped into memory: processes on one machine share it."""
        path = folder / f"{cls.kind}.faiss"
        loaded = cls(store, _read(path, cls.faiss_class, store), parameters)
        loaded._mapped = path
        return loaded

    @classmethod
    @abstractmethod
    def _trained(
        cls, store: VectorStore, parameters: Mapping[str, object]
    ) -> tuple[Any, dict[str, object]]:
        """An index of FAISS without rows yet, and the parameters that it was made with."""

    @abstractmethod
    def _values(self) -> Sequence[int]:
        """To be tried, rising."""

    @abstractmethod
    def _params(self, selector: Any, value: int) -> Any:
        """FAISS's parameters of a search among the rows selected."""

    def _take_in(self) -> None:
        """The rows that FAISS does not hold yet."""
        for rows in self._new_rows():
            self._index.add(rows)

    def _new_rows(self) -> Iterator[Vectors]:
        """In steps that do not depend on the shards."""
        for start in range(self._index.ntotal, len(self._store), ROWS_AT_ONCE):
            stop = min(len(self._store), start + ROWS_AT_ONCE)
            yield self._store.rows(np.arange(start, stop))

    def _tune(self, wanted: float) -> int:
        def take(value: int) -> None:
            self.parameters = {**self.parameters, self.tuned: value}

        values = self._values()
        return tune(self, self._store, values=values, take=take, wanted=wanted)

    def _search_parameters(self, excluded: Mask) -> Any:
        """Kept for the next question where the mask cannot have changed."""
        if self._kept and self._kept[0] is excluded:
            return self._kept[1]
        allowed = np.packbits(~(excluded | self._removed), bitorder="little")
        value = cast(int, self.parameters[self.tuned])
        params = self._params(faiss.IDSelectorBitmap(allowed), value)
        self._kept = None if excluded.flags.writeable else (excluded, params)
        return params


def number(parameters: Mapping[str, object], name: str, default: float) -> float:
    return cast(float, parameters.get(name, default))


def _read(path: Path, wanted: type[Any], store: VectorStore) -> Any:
    if not path.is_file():
        raise UserError(f"The index file {path} is missing: {HINT}.")
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise UserError(f"FAISS cannot read the index file {path}: {HINT}.") from error
    if not isinstance(index, wanted):
        raise UserError(f"The index file {path} holds another kind of index: {HINT}.")
    expected = (len(store), store.identity.dimension)
    if (index.ntotal, index.d) != expected:
        raise UserError(
            f"The index file {path} holds {index.ntotal:,} rows of {index.d} numbers instead of "
            f"{expected[0]:,} of {expected[1]}: {HINT}."
        )
    return index
