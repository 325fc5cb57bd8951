"""The exact vector index. The only module that imports faiss: import it through search.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray

from retrieval.errors import UserError
from retrieval.store import PAIR_KEYS, VECTORS, Manifest, rebuild_hint
from retrieval.vectors import Positions, Vectors

# FAISS multiplies matrices by BLAS only from this many queries a call on, 20 by default, and
# otherwise takes one dot product after another; depending on the batch that is up to 17 times
# slower. At 1 every search is a matrix product.
faiss.cvar.distance_compute_blas_threshold = 1

# Scores are the recomputed ones, rounded: summing in another order or on another machine must not
# change a rank. FAISS's own float32 scores differ from them by less than the margin.
DECIMALS = 6
MARGIN = 1e-4
QUERIES_PER_CALL = 1024

RESULTS_PER_CALL = 20_000_000

PairKeys = NDArray[np.bytes_]  # 32 bytes each, sorted


@dataclass(frozen=True)
class Search:
    """A task and the place for its results, both queries x k."""

    queries: Vectors
    excluded: NDArray[np.bool_]
    positions: Positions
    scores: NDArray[np.float64]


class VectorIndex:
    """Vectors in the order of their pair keys, searched exactly by inner product."""

    def __init__(self, flat: faiss.IndexFlatIP, keys: PairKeys) -> None:
        self._flat = flat
        self._keys = keys
        # A view of FAISS's memory, alive as long as the index above.
        numbers = faiss.rev_swig_ptr(flat.get_xb(), flat.ntotal * flat.d)
        self._matrix: Vectors = numbers.reshape(flat.ntotal, flat.d)

    def __len__(self) -> int:
        return int(self._flat.ntotal)

    def positions(self, keys: Sequence[str]) -> Positions:
        """Of the pairs with these keys; -1 for a pair that the index does not hold."""
        wanted = _packed(keys)
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self) - 1)
        return np.where(self._keys[at] == wanted, at, -1)

    def vectors(self, positions: Positions) -> Vectors:
        return self._matrix[positions]

    def search(
        self, queries: Vectors, k: int, excluded: NDArray[np.bool_]
    ) -> tuple[Positions, NDArray[np.float64]]:
        """The k nearest allowed pairs of each query: positions and scores, both queries x k.

        Equal scores stand in the order of the pair keys. At least k pairs must be allowed.
        """
        shape = len(queries), k
        task = Search(queries, excluded, np.empty(shape, np.int64), np.empty(shape, np.float64))
        pending = np.arange(len(queries))
        width = min(len(self), 2 * k + 10)
        while pending.size:
            size = max(1, min(QUERIES_PER_CALL, RESULTS_PER_CALL // width))
            parts = [pending[start : start + size] for start in range(0, pending.size, size)]
            pending = np.concatenate([self._unsettled(task, part, width) for part in parts])
            width = min(len(self), width * 4)
        return task.positions, task.scores

    def _unsettled(self, task: Search, rows: Positions, width: int) -> Positions:
        """Settle what the `width` nearest pairs of these queries settle; returns the others."""
        k = task.positions.shape[1]
        near, found = self._flat.search(task.queries[rows], width)
        unsettled = []
        for row, floor, at in zip(rows, near[:, -1], found, strict=True):
            allowed = at[~task.excluded[at]]
            scores = self._scores(task.queries[row], allowed)
            best = np.lexsort((allowed, -scores))[:k]
            # A pair that was not fetched scores at most `floor`: it must not reach the last rank.
            if width == len(self) or (len(best) == k and scores[best[-1]] > floor + MARGIN):
                task.positions[row], task.scores[row] = allowed[best], scores[best]
            else:
                unsettled.append(row)
        return np.array(unsettled, np.int64)

    def _scores(self, query: Vectors, positions: Positions) -> NDArray[np.float64]:
        products = self._matrix[positions].astype(np.float64) @ query.astype(np.float64)
        return np.clip(np.round(products, DECIMALS), -1.0, 1.0)


class IndexWriter:
    """Collects vectors chunk by chunk, in the order of the pair keys, and writes the files."""

    def __init__(self, dimension: int) -> None:
        self._flat = faiss.IndexFlatIP(dimension)
        self._keys: list[PairKeys] = []

    def add(self, keys: Sequence[str], vectors: Vectors) -> None:
        if vectors.shape != (len(keys), self._flat.d) or not np.isfinite(vectors).all():
            raise UserError(
                f"The model gave vectors of shape {vectors.shape} or not of numbers for "
                f"{len(keys)} texts: use another model."
            )
        self._flat.add(np.ascontiguousarray(vectors, np.float32))
        self._keys.append(_packed(keys))

    def write(self, folder: Path) -> None:
        faiss.write_index(self._flat, str(folder / VECTORS))
        np.save(folder / PAIR_KEYS, np.concatenate(self._keys), allow_pickle=False)


def open_index(folder: Path, manifest: Manifest, *, mapped: bool = False) -> VectorIndex:
    """The index of a folder whose files have been verified against the manifest.

    `mapped`: only what is looked at is read into memory, for who wants a few of many vectors.
    """
    hint = rebuild_hint(manifest)
    try:
        how = faiss.IO_FLAG_MMAP_IFC if mapped else 0
        flat = faiss.read_index(str(folder / VECTORS), how)
        keys = np.load(folder / PAIR_KEYS, allow_pickle=False)
    except (RuntimeError, ValueError, EOFError) as error:
        raise UserError(f"The index in {folder} cannot be read: {hint}.") from error
    pairs, dimension = manifest["pairs"], manifest["dimension"]
    found = flat.ntotal, flat.d, keys.shape
    if not isinstance(flat, faiss.IndexFlatIP) or found != (pairs, dimension, (pairs,)):
        raise UserError(f"The index in {folder} is not what its manifest says: {hint}.")
    return VectorIndex(flat, keys)


def versions() -> dict[str, str]:
    return {"faiss": faiss.__version__, "numpy": metadata.version("numpy")}


def _packed(keys: Sequence[str]) -> PairKeys:
    """Hexadecimal keys as bytes, which sort in the same order."""
    return np.frombuffer(bytes.fromhex("".join(keys)), "S32")
