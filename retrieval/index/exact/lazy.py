"""Imports inside functions: torch takes seconds and half a gigabyte."""

from retrieval.index.port import VectorIndex
from retrieval.vectors.store import VectorStore


def exact_index(store: VectorStore) -> VectorIndex:
    from retrieval.index.exact import exact  # noqa: PLC0415

    return exact.ExactIndex(store)


def free_on_gpu() -> int:
    """Bytes."""
    from retrieval.index.exact import gpu  # noqa: PLC0415

    return gpu.free_bytes("cuda")
