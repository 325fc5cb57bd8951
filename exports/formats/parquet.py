"""A labelled triplet a row, for pandas, `datasets`, DuckDB and the like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from exports.formats.batch import RANK, Batch
from exports.formats.writer import Write

# Those whose values stand in many rows; a dictionary of the other texts would only grow.
REPEATED = ["query_id", "query", "rank", "label", "yes", "no"]


@contextmanager
def parquet(folder: Path, split: str, schema: pa.Schema) -> Iterator[Write]:
    path = folder / "parquet" / f"{split}.parquet"
    repeated = REPEATED + [name for name in schema.names if name.endswith(RANK)]
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=repeated,  # type: ignore[arg-type]  # takes names too
    ) as file:

        def write(batch: Batch) -> None:
            file.write_batch(batch.rows, row_group_size=batch.rows.num_rows)

        yield write
