"""Rows of a Parquet file, a few at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import UserError
from core.files.rows import EXCERPT, NOT_UTF8, Row
from core.progress import Progress

ROWS = 500
MANY_ROWS = 65_536
STEP = 1 << 20  # bytes of a column
OUT_OF_RANGE = "a date or time in the row is out of range"


def parquet_rows(path: Path, progress: Progress) -> Iterator[Row]:
    size, number, reported = os.path.getsize(path), 0, 0
    with _open(path) as file:
        total = file.metadata.num_rows
        # Threads would take memory of their own.
        for batch in file.iter_batches(ROWS, use_threads=False):
            for fields, fault in _records(batch):
                number += 1
                yield Row(number, fields, fault, str(fields)[:EXCERPT])
            done = size * number // total
            progress(done - reported)
            reported = done


def unpacked_bytes(path: Path, most: int) -> int:
    """Of its texts, as long as each is, however often the file refers to one; and 8 for each value
    of a list. Not counted any further than `most`.
    """
    with _open(path) as file:
        total = 8 * sum(_values_in_lists(file.metadata))
        texts = [one.name for one in file.schema_arrow if _is_text(one.type)]
        if texts:
            for batch in file.iter_batches(MANY_ROWS, columns=texts, use_threads=False):
                if total > most:
                    break
                total += _text_bytes(batch)
    return total


def _values_in_lists(metadata: pq.FileMetaData) -> Iterator[int]:
    """By the file's own footer: where a value repeats, it is stored once."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = map(group.column, range(group.num_columns))
        yield from (one.num_values for one in columns if "." in one.path_in_schema)


def _text_bytes(batch: pa.RecordBatch) -> int:
    """Without unfolding the texts that the file has once and refers to."""
    total = 0
    column: Any
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
        else:
            lengths = pc.binary_length(column)
        total += pc.sum(lengths).as_py() or 0
    return total


def _is_text(kind: pa.DataType) -> bool:
    # Older files call their texts binary.
    while pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = pa.types.is_string, pa.types.is_large_string, pa.types.is_binary
    return any(test(kind) for test in tests)


@contextmanager
def _open(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        # Else a row group is in memory as a whole.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=STEP) as file:
            yield file
    except MemoryError:
        raise
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
