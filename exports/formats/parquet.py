"""A labelled triplet a row, for pandas, `datasets`, DuckDB and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from exports.formats.batch import Batch
from exports.formats.format import Format, Snippet, Write
from exports.layout.schemas import RecordColumn, arrow_schema


@contextmanager
def parquet(folder: Path, split: str, columns: Sequence[RecordColumn]) -> Iterator[Write]:
    path = folder / "parquet" / f"{split}.parquet"
    # A dictionary of the other texts would only grow.
    repeated = [column.name for column in columns if column.repeated]
    with pq.ParquetWriter(
        path,
        arrow_schema(columns),
        compression="zstd",
        use_dictionary=repeated,  # type: ignore[arg-type]  # takes names too
    ) as file:

        def write(batch: Batch) -> None:
            file.write_batch(batch.rows, row_group_size=batch.rows.num_rows)

        yield write


PARQUET = Format(
    key="parquet",
    title="Parquet",
    description=(
        "A labelled triplet (query, question, answer) a row, for pandas, datasets, Polars or "
        "DuckDB."
    ),
    media={".parquet": "application/x-parquet"},
    open=parquet,
    snippets=(
        Snippet(
            "datasets",
            "datasets",
            "python",
            """\
import pyarrow.parquet as pq
from datasets import load_dataset

files = {split: f"$folder/parquet/{split}.parquet" for split in ("train", "dev", "test")}
# datasets loads no split without rows.
files = {split: path for split, path in files.items() if pq.read_metadata(path).num_rows}
dataset = load_dataset("parquet", data_files=files)
print(dataset.num_rows)
""",
        ),
        Snippet(
            "pandas",
            "pandas",
            "python",
            """\
import pandas as pd

train = pd.read_parquet("$folder/parquet/train.parquet")
print(train.groupby("label").size())
""",
        ),
    ),
)
