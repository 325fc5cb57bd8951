"""A labelled triplet a row, for pandas, `datasets`, DuckDB and the like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from exports.formats.batch import COLUMNS, Batch
from exports.formats.writer import Write

# Those whose values stand in many rows; a dictionary of the other texts would only grow.
REPEATED = ["query_id", "query", "rank", "label", "yes", "no"]


@contextmanager
def parquet(folder: Path, split: str) -> Iterator[Write]:
    path = folder / "parquet" / f"{split}.parquet"
    with pq.ParquetWriter(
        path,
        COLUMNS,
        compression="zstd",
        use_dictionary=REPEATED,  # type: ignore[arg-type]  # takes names too
    ) as file:

        def write(batch: Batch) -> None:
            file.write_batch(batch.rows, row_group_size=batch.rows.num_rows)

        yield write
