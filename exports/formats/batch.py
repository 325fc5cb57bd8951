"""A split in pieces that every format is written from, one in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from exports.layout.schemas import (
    CANDIDATE_COLUMNS,
    QUERY_COLUMNS,
    RecordColumn,
    arrow_schema,
    pooled_columns,
    record_columns,
)
from retrieval.ranking.records import QueryRecord

# A piece ends with the first query that fills it, and is one row group of Parquet.
ROWS = 8_192


@dataclass(frozen=True)
class Batch:
    queries: Sequence[QueryRecord]
    rows: pa.RecordBatch  # a labelled triplet each, in the columns of `record_columns`


def batches(
    queries: Iterable[QueryRecord],
    retrievers: Sequence[str] = (),
    extra: Sequence[RecordColumn] = (),
) -> Iterator[Batch]:
    """`retrievers` and `extra`: see `record_columns`."""
    schema = arrow_schema(record_columns(retrievers, extra))
    taken: list[QueryRecord] = []
    rows = 0
    for query in queries:
        taken.append(query)
        rows += len(query.candidates)
        if rows >= ROWS:
            yield Batch(taken, _rows(taken, retrievers, extra, schema))
            taken, rows = [], 0
    if taken:
        yield Batch(taken, _rows(taken, retrievers, extra, schema))


def _rows(
    queries: Sequence[QueryRecord],
    retrievers: Sequence[str],
    extra: Sequence[RecordColumn],
    schema: pa.Schema,
) -> pa.RecordBatch:
    pairs = [(query, candidate) for query in queries for candidate in query.candidates]
    values: dict[str, list[Any]] = {}
    for column in QUERY_COLUMNS:
        values[column.name] = [getattr(query, column.path[-1]) for query, _ in pairs]
    for column in (*CANDIDATE_COLUMNS, *extra):
        values[column.name] = [getattr(candidate, column.path[-1]) for _, candidate in pairs]
    for name, column in pooled_columns(retrievers).items():
        values[column.name] = [(candidate.found_by or {}).get(name) for _, candidate in pairs]
    return pa.RecordBatch.from_pydict(values, schema=schema)
