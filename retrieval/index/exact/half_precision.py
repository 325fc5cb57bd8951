"""Rows stored in float16, by torch: numpy takes ten times as long to convert them."""

import numpy as np
import torch
from numpy.typing import NDArray

from retrieval.vectors.types import Stored, Vectors

# Of more numbers torch would share a copy among threads of its own, which wait for each other.
COPIED_AT_ONCE = 2**15 - 1


class HalfQuery:
    """Its products with rows are made in float16."""

    def __init__(self, query: NDArray[np.float32]) -> None:
        self._query = torch.from_numpy(query).half()

    def products(self, rows: Stored) -> NDArray[np.float16]:
        products: NDArray[np.float16] = torch.mv(
            torch.utils.dlpack.from_dlpack(rows), self._query
        ).numpy()
        return products


class Single:
    """Rows in float32, at most `rows` at a time; the next overwrite them."""

    def __init__(self, rows: int, dimension: int) -> None:
        self._half = torch.empty((rows, dimension), dtype=torch.float16)
        self._float = torch.empty((rows, dimension), dtype=torch.float32)
        self._from = torch.split(self._half.view(-1), COPIED_AT_ONCE)
        self._to = torch.split(self._float.view(-1), COPIED_AT_ONCE)

    def of(self, rows: Stored) -> Vectors:
        np.copyto(self._half.numpy()[: len(rows)], rows)
        parts = -(-rows.size // COPIED_AT_ONCE)
        torch._foreach_copy_(self._to[:parts], self._from[:parts])
        return self._float.numpy()[: len(rows)]
