"""A split in pieces that every format is written from, one in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from retrieval.ranking.records import QueryRecord

# A piece ends with the first query that fills it, and is one row group of Parquet.
ROWS = 8_192
# A labelled triplet a row, in the order of the JSONL.
FIELDS: list[pa.Field[Any]] = [
    pa.field("query_id", pa.string(), nullable=False),
    pa.field("query", pa.string(), nullable=False),
    pa.field("candidate_id", pa.string(), nullable=False),
    pa.field("question", pa.string(), nullable=False),
    pa.field("answer", pa.string(), nullable=False),
    pa.field("rank", pa.int16(), nullable=False),
    pa.field("score", pa.float64()),
    pa.field("label", pa.int8(), nullable=False),
    pa.field("yes", pa.int16(), nullable=False),
    pa.field("no", pa.int16(), nullable=False),
]
COLUMNS = pa.schema(FIELDS)
RANK = "_rank"


def columns(retrievers: Sequence[str]) -> pa.Schema:
    """With the candidate's rank in each retriever, empty where that one did not find it."""
    ranks = [pa.field(f"{name}{RANK}", pa.int16()) for name in retrievers]
    return pa.schema([*FIELDS, *ranks])


@dataclass(frozen=True)
class Batch:
    queries: Sequence[QueryRecord]
    rows: pa.RecordBatch  # the same, in the columns asked for


def batches(queries: Iterable[QueryRecord], schema: pa.Schema = COLUMNS) -> Iterator[Batch]:
    taken: list[QueryRecord] = []
    rows = 0
    for query in queries:
        taken.append(query)
        rows += len(query.candidates)
        if rows >= ROWS:
            yield Batch(taken, _rows(taken, schema))
            taken, rows = [], 0
    if taken:
        yield Batch(taken, _rows(taken, schema))


def _rows(queries: Sequence[QueryRecord], schema: pa.Schema) -> pa.RecordBatch:
    pairs = [(query, candidate) for query in queries for candidate in query.candidates]
    candidates = [candidate for _, candidate in pairs]
    values: dict[str, list[Any]] = {
        "query_id": [query.id for query, _ in pairs],
        "query": [query.query for query, _ in pairs],
        "candidate_id": [candidate.id for candidate in candidates],
        "question": [candidate.question for candidate in candidates],
        "answer": [candidate.answer for candidate in candidates],
        "rank": [candidate.rank for candidate in candidates],
        "score": [candidate.score for candidate in candidates],
        "label": [candidate.label for candidate in candidates],
        "yes": [candidate.yes for candidate in candidates],
        "no": [candidate.no for candidate in candidates],
    }
    for column in schema.names[len(FIELDS) :]:
        name = column.removesuffix(RANK)
        values[column] = [(candidate.found_by or {}).get(name) for candidate in candidates]
    return pa.RecordBatch.from_pydict(values, schema=schema)
