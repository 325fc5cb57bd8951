"""The lists of `ivf`, searched on a GPU (faiss-gpu).

The file and the lists in memory are those of `ivf`. The GPU learns the centres, chooses a list for
each row, and holds a copy that is searched; it sums in an order of its own, so the same rows may
make another file. FAISS leaves no rows out there: more are asked for, and those that are excluded
are dropped.
"""

import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import faiss
import numpy as np
from faiss.contrib.ivf_tools import add_preassigned

from core.errors import UserError
from retrieval.index.approximate.ivf import IvfIndex
from retrieval.index.port import Neighbours
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors

DEVICE = 0
MOST = 2_048  # results of a query, and lists that it looks at: FAISS's limits on a GPU
QUERIES_AT_ONCE = 2_048
# A GPU index of FAISS may be used by one thread at a time.
_one_at_a_time = threading.Lock()


class IvfGpuIndex(IvfIndex):
    kind: ClassVar[str] = "ivf-gpu"
    most_probes: ClassVar[int] = MOST
    _copy: Any = None

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        loaded = super().load(folder, store, parameters)
        loaded._copy = on_gpu(loaded._index)
        return loaded

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        left_out = excluded | self._removed
        positions = np.full((len(queries), width), -1, np.int64)
        scores = np.full((len(queries), width), -np.inf, np.float32)
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            part = slice(start, start + QUERIES_AT_ONCE)
            self._nearest(queries[part], left_out, Neighbours(positions[part], scores[part]))
        return Neighbours(positions, scores)

    @classmethod
    def _train(cls, index: Any, rows: Vectors) -> None:
        clusters = on_gpu(faiss.IndexFlatIP(index.d))
        index.clustering_index = clusters
        clusters.thisown = True  # the line before has handed it over, and nobody would free it
        with _one_at_a_time:
            super()._train(index, rows)
        index.clustering_index = None  # it points to what goes with this call

    def _take_in(self) -> None:
        self._copy = None  # its memory is free for the next
        centres = on_gpu(faiss.downcast_index(self._index.quantizer))
        for rows in self._new_rows():
            with _one_at_a_time:
                lists = centres.assign(rows, 1)
            add_preassigned(self._index, rows, lists.ravel())  # type: ignore[no-untyped-call]
        self._copy = on_gpu(self._index)

    def _nearest(self, queries: Vectors, left_out: Mask, near: Neighbours) -> None:
        """Twice the width is asked for, and where too many of these are left out, the most."""
        width = near.positions.shape[1]
        pending = np.arange(len(queries))
        for asked in dict.fromkeys((min(2 * width, MOST), MOST)):
            scores, positions = self._asked(queries[pending], asked)
            has_more = positions[:, -1] >= 0
            scores[(positions < 0) | left_out[positions]] = -np.inf
            best = np.argsort(-scores, axis=1, kind="stable")[:, :width]
            scores = np.take_along_axis(scores, best, axis=1)
            positions = np.take_along_axis(positions, best, axis=1)
            near.scores[pending, : best.shape[1]] = scores
            near.positions[pending, : best.shape[1]] = np.where(np.isneginf(scores), -1, positions)
            pending = pending[has_more & (near.positions[pending, -1] < 0)]
            if not len(pending):
                break

    def _asked(self, queries: Vectors, width: int) -> tuple[Any, Any]:
        probes = cast(int, self.parameters[self.tuned])
        params = faiss.SearchParametersIVF(nprobe=probes)
        with _one_at_a_time:
            scores, positions = self._copy.search(queries, width, params=params)
        return scores, positions


def on_gpu(index: Any) -> Any:
    """A copy."""
    if not faiss.get_num_gpus():
        raise UserError(
            "An index of the kind ivf-gpu needs a CUDA device and faiss-gpu, and FAISS finds no "
            "GPU here: install requirements/gpu.txt on a machine with a GPU, or build another kind "
            "by `quorum index build --kind ivf`."
        )
    try:
        with _one_at_a_time:
            return faiss.index_cpu_to_gpu(_resources(), DEVICE, index)
    except RuntimeError as error:
        raise UserError(
            f"FAISS cannot copy an index of {index.ntotal:,} rows of {index.d} numbers to the GPU: "
            "free memory there, or build another kind by `quorum index build --kind ivf`."
        ) from error


@cache
def _resources() -> Any:
    """One for the process: each keeps memory of the GPU for itself."""
    return faiss.StandardGpuResources()
