"""Imports inside functions: torch takes seconds and half a gigabyte."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from retrieval.index.exact.half_precision import HalfQuery, Single


def half_query(query: NDArray[np.float32]) -> "HalfQuery":
    from retrieval.index.exact import half_precision  # noqa: PLC0415

    return half_precision.HalfQuery(query)


def in_single(rows: int, dimension: int) -> "Single":
    from retrieval.index.exact import half_precision  # noqa: PLC0415

    return half_precision.Single(rows, dimension)


def free_on_gpu() -> int:
    """Bytes."""
    from retrieval.index.exact import gpu  # noqa: PLC0415

    return gpu.free_bytes("cuda")
