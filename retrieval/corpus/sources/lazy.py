"""Imports inside functions: pyarrow takes half a second, and most commands read no Parquet."""

from collections.abc import Iterator
from pathlib import Path

from core.files.rows import Row
from core.progress import Progress


def parquet_rows(path: Path, progress: Progress) -> Iterator[Row]:
    from retrieval.corpus.sources import parquet  # noqa: PLC0415

    return parquet.parquet_rows(path, progress)


def parquet_bytes(path: Path, most: int) -> int:
    """Unpacked, as the file itself tells."""
    from retrieval.corpus.sources import parquet  # noqa: PLC0415

    return parquet.unpacked_bytes(path, most)
