"""The columns of Parquet, tab-separated.

Texts stand in double quotes, doubled inside of them, so that tabs and line breaks are kept; a
score or rank that is missing is empty and without quotes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import Template

import pyarrow as pa
from pyarrow import csv

from exports.formats.batch import Batch
from exports.formats.format import Format, Snippet, Write
from exports.layout.schemas import RecordColumn, arrow_schema, record_columns


@contextmanager
def tsv(folder: Path, split: str, columns: Sequence[RecordColumn]) -> Iterator[Write]:
    options = csv.WriteOptions(delimiter="\t", quoting_style="needed")
    path = folder / "tsv" / f"{split}.tsv"
    with csv.CSVWriter(path, arrow_schema(columns), write_options=options) as file:

        def write(batch: Batch) -> None:
            file.write_batch(batch.rows)

        yield write


TEXTS = [column.name for column in record_columns() if column.type == pa.string()]
EMPTY = ", ".join(f'"{column.name}": [""]' for column in record_columns() if column.null)
CODE = Template(
    """\
import pandas as pd

texts = $texts
train = pd.read_csv(
    "$folder/tsv/train.tsv",
    sep="\\t",
    dtype=dict.fromkeys(texts, "str"),
    keep_default_na=False,  # a text "NA" is a text
    na_values={$empty},
)
print(train.groupby("label").size())
"""
)
TSV = Format(
    key="tsv",
    title="TSV",
    description=(
        "The columns of the Parquet files, tab-separated, texts in double quotes; an empty score "
        "is one that is not known."
    ),
    media={".tsv": "text/tab-separated-values"},
    open=tsv,
    snippets=(
        Snippet(
            "tsv",
            "TSV",
            "python",
            CODE.safe_substitute(texts=json.dumps(TEXTS), empty=EMPTY),
        ),
    ),
)
