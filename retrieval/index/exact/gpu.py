"""Every row compared, on a CUDA device: products in half precision, scored again by settle.

Only the best rows leave the device. Of a tile of scores the best are found in two steps: first the
groups of columns with the highest maximum, then the best columns of these. No column outside the
first `width` groups can be among the best `width`.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from core.errors import UserError
from retrieval.index.port import Neighbours, rounding_error
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

GROUP = 64  # columns
QUERIES_PER_TILE = 1024
SCORES_PER_TILE = 2**29  # 1 GB in half precision
# Of half precision: the most that rounding a number of at most 1, or of less than 2, changes it.
HALF_ULP = 2.0**-11
HALF = 2  # bytes
WORKSPACE = 3  # times a tile of scores


class GpuIndex:
    kind: ClassVar[str] = "gpu"
    exact: ClassVar[bool] = True

    def __init__(self, store: VectorStore, device: str) -> None:
        self._device = torch.device(device)
        self._removed = np.zeros(0, np.bool_)
        self._kept: tuple[Mask, Tensor] | None = None
        self.add(store)

    @property
    def parameters(self) -> Mapping[str, object]:
        return {"device": str(self._device)}

    @classmethod
    def build(cls, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        return cls(store, str(parameters.get("device", "cuda")))

    def add(self, store: VectorStore) -> None:
        more = np.zeros(len(store) - len(self._removed), np.bool_)
        self._removed = np.concatenate([self._removed, more])
        self._kept = None
        self._rows = torch.empty(0)  # what it held of before goes first
        dimension = store.identity.dimension
        free = free_bytes(self._device)
        require_room(len(store), dimension, free=free, device=str(self._device))
        padded = -(-len(store) // GROUP) * GROUP
        self._rows = torch.zeros(padded, dimension, dtype=torch.float16, device=self._device)
        # How far a row is from what the device holds of it, and how long it is, at most.
        self._lost, self._length = 0.0, 0.0
        for start, block in store.blocks():
            rows = torch.from_numpy(np.array(block)).to(self._device)
            held = self._rows[start : start + len(block)]
            held.copy_(rows)
            self._lost = max(self._lost, float((rows.float() - held.float()).norm(dim=1).max()))
            self._length = max(self._length, float(held.float().norm(dim=1).max()))

    def remove(self, positions: Positions) -> None:
        self._removed[positions] = True
        self._kept = None

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        asked = torch.from_numpy(np.ascontiguousarray(queries)).to(self._device)
        half = asked.half()
        bias = self._bias(excluded)
        scores = torch.empty(len(queries), width, dtype=torch.float16, device=self._device)
        positions = torch.empty(len(queries), width, dtype=torch.int64, device=self._device)
        with _sums_in_single_precision():
            for start in range(0, len(queries), QUERIES_PER_TILE):
                some = slice(start, start + QUERIES_PER_TILE)
                scores[some], positions[some] = self._best(half[some], width, bias)
        margin = self._margin(asked, half)
        best = scores.float().cpu().numpy()
        return Neighbours(np.where(np.isneginf(best), -1, positions.cpu().numpy()), best, margin)

    def save(self, folder: Path) -> None:
        """The store is all it needs."""

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        return cls.build(store, parameters)

    def _bias(self, excluded: Mask) -> Tensor:
        """Added to a row's scores; the matrix product does it on the way.

        Kept for the next question where the mask cannot have changed.
        """
        if self._kept and self._kept[0] is excluded:
            return self._kept[1]
        left_out = excluded | self._removed
        bias = torch.zeros(len(self._rows), dtype=torch.float16, device=self._device)
        bias[torch.from_numpy(np.flatnonzero(left_out)).to(self._device)] = -torch.inf
        bias[len(left_out) :] = -torch.inf
        self._kept = None if excluded.flags.writeable else (excluded, bias)
        return bias

    def _best(self, queries: Tensor, width: int, bias: Tensor) -> tuple[Tensor, Tensor]:
        best = queries.new_full((len(queries), width), -torch.inf)
        places = torch.full_like(best, -1, dtype=torch.int64)
        step = max(GROUP, SCORES_PER_TILE // max(1, len(queries)) // GROUP * GROUP)
        for start in range(0, len(self._rows), step):
            here = slice(start, start + step)
            tile = torch.nn.functional.linear(queries, self._rows[here], bias[here])
            scores, columns = _best_columns(tile, width)
            scores = torch.cat([best, scores], dim=1)
            best, kept = scores.topk(width)
            places = torch.cat([places, columns + start], dim=1).gather(1, kept)
        return best, places

    def _margin(self, queries: Tensor, half: Tensor) -> float:
        """By Cauchy and Schwarz: of rounding rows and queries, of the sum and of its result."""
        longest = float(queries.norm(dim=1).max()) if len(queries) else 0.0
        lost = float((queries - half.float()).norm(dim=1).max()) if len(queries) else 0.0
        rounded = longest * self._lost + lost * self._length
        # Tensor cores cut where others round: twice the bound.
        return rounded + HALF_ULP + 2 * rounding_error(queries.shape[1])


def free_bytes(device: torch.device | str) -> int:
    """Raises UserError where there is no such device."""
    device = torch.device(device)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise UserError("There is no CUDA device here: choose another kind of index than gpu.")
        torch.cuda.empty_cache()  # what torch keeps of tensors that are gone does not look free
        free, _ = torch.cuda.mem_get_info(device)
        return free
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def require_room(pairs: int, dimension: int, *, free: int, device: str) -> None:
    """Raises UserError where the vectors, and room to compare them, are not free."""
    scores = min(SCORES_PER_TILE, QUERIES_PER_TILE * pairs)
    needed = HALF * (pairs * (dimension + 1) + WORKSPACE * scores)
    if needed > free:
        raise UserError(
            f"{pairs:,} vectors of {dimension} numbers need {needed / 2**30:.1f} GiB on {device}, "
            f"where {free / 2**30:.1f} are free: choose another kind of index than gpu."
        )


def _best_columns(scores: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """At most `width`, nearest first; the scores' number of columns is one of whole groups."""
    queries, columns = scores.shape
    if width * GROUP * 2 > columns:
        best = scores.topk(min(width, columns))
        return best.values, best.indices
    groups = scores.view(queries, columns // GROUP, GROUP)
    near = groups.amax(dim=2).topk(width, sorted=False).indices
    inside = groups.gather(1, near[:, :, None].expand(-1, -1, GROUP)).flatten(1)
    best = inside.topk(width)
    columns_of = near.gather(1, best.indices // GROUP) * GROUP + best.indices % GROUP
    return best.values, columns_of


@contextmanager
def _sums_in_single_precision() -> Iterator[None]:
    """As the margin supposes; torch may sum in half precision otherwise."""
    settings = torch.backends.cuda.matmul
    before = settings.allow_fp16_reduced_precision_reduction
    settings.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        settings.allow_fp16_reduced_precision_reduction = before
