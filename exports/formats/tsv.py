"""The columns of Parquet, tab-separated.

Texts stand in double quotes, doubled inside of them, so that tabs and line breaks are kept; a
score or rank that is missing is empty and without quotes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from exports.formats.batch import Batch
from exports.formats.writer import Write


@contextmanager
def tsv(folder: Path, split: str, schema: pa.Schema) -> Iterator[Write]:
    options = csv.WriteOptions(delimiter="\t", quoting_style="needed")
    with csv.CSVWriter(folder / "tsv" / f"{split}.tsv", schema, write_options=options) as file:

        def write(batch: Batch) -> None:
            file.write_batch(batch.rows)

        yield write
