"""A release's other formats, all written in one pass over each split's file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.progress import Progress, no_progress
from exports.formats.batch import ROWS, batches
from exports.formats.registry import FORMATS
from exports.layout.schemas import RecordColumn, record_columns
from exports.splits.splits import SPLITS
from retrieval.ranking.records import read

PIECE = 1 << 20


def write_formats(
    folder: Path,
    *,
    retrievers: Sequence[str] = (),
    extra: Sequence[RecordColumn] = (),
    progress: Progress = no_progress,
) -> None:
    """Beside the splits in `folder`; `progress` counts queries. DatasetError: see `read`.

    `retrievers` and `extra`: see `record_columns`.
    """
    columns = record_columns(retrievers, extra)
    for each in FORMATS:
        (folder / each.key).mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        with ExitStack() as stack:
            writes = [stack.enter_context(each.open(folder, split, columns)) for each in FORMATS]
            records = read(folder / f"{split}.jsonl")
            for batch in batches(records, retrievers, extra):
                for write in writes:
                    write(batch)
                progress(len(batch.queries))


def same(one: Path, other: Path) -> bool:
    """Tables by their columns and values, as each version of a library packs them its own way.

    All other files by their bytes. False where a table cannot be read.
    """
    if one.suffix != ".parquet":
        return _same_bytes(one, other)
    try:
        with pq.ParquetFile(one) as left, pq.ParquetFile(other) as right:
            return _same_tables(left, right)
    except (pa.ArrowException, OSError):
        return False


def _same_bytes(one: Path, other: Path) -> bool:
    # filecmp remembers what it once found of two paths, and asks for sizes and times alone then.
    with one.open("rb") as left, other.open("rb") as right:
        while piece := left.read(PIECE):
            if piece != right.read(PIECE):
                return False
        return not right.read(1)


def _same_tables(left: pq.ParquetFile, right: pq.ParquetFile) -> bool:
    if not left.schema_arrow.equals(right.schema_arrow):
        return False
    if left.metadata.num_rows != right.metadata.num_rows:
        return False
    slices = zip(_slices(left), _slices(right), strict=True)
    return all(one.equals(other) for one, other in slices)


def _slices(file: pq.ParquetFile) -> Iterator[pa.Table]:
    """Of ROWS rows each but the last, wherever the file's row groups end."""
    rest = file.schema_arrow.empty_table()
    for number in range(file.num_row_groups):
        rest = pa.concat_tables([rest, file.read_row_group(number, use_threads=False)])
        while rest.num_rows >= ROWS:
            yield rest.slice(0, ROWS)
            rest = rest.slice(ROWS)
    yield rest
