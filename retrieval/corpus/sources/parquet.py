"""Rows of a Parquet file, a few at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import UserError
from core.files.rows import EXCERPT, NOT_UTF8, Row
from core.progress import Progress

ROWS = 500
OUT_OF_RANGE = "a date or time in the row is out of range"


def parquet_rows(path: Path, progress: Progress) -> Iterator[Row]:
    size, number, reported = os.path.getsize(path), 0, 0
    with _open(path) as file:
        total = file.metadata.num_rows
        for batch in file.iter_batches(ROWS):
            for fields, fault in _records(batch):
                number += 1
                yield Row(number, fields, fault, str(fields)[:EXCERPT])
            done = size * number // total
            progress(done - reported)
            reported = done


def unpacked_bytes(path: Path) -> int:
    """As its own footer tells."""
    with _open(path) as file:
        groups = range(file.metadata.num_row_groups)
        return sum(file.metadata.row_group(number).total_byte_size for number in groups)


@contextmanager
def _open(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:EXCERPT]
        raise UserError(
            f"{path} is not a whole Parquet file ({reason}): fetch it again."
        ) from error


def _records(batch: pa.RecordBatch) -> Iterator[tuple[dict[str, object], str]]:
    try:
        records = batch.to_pylist()
    except (UnicodeDecodeError, OverflowError) as error:
        if batch.num_rows == 1:
            yield {}, NOT_UTF8 if isinstance(error, UnicodeDecodeError) else OUT_OF_RANGE
        else:
            for place in range(batch.num_rows):
                yield from _records(batch.slice(place, 1))
        return
    yield from ((record, "") for record in records)
