"""Judgments as the release has them, written from plain votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from exports.layout.files import JUDGMENTS
from exports.layout.schemas import TABLES

# query -> for each of its candidates, by rank, (worker, vote) in order of submission
Campaign = Mapping[str, Sequence[Sequence[tuple[str, int]]]]


def write_judgments(folder: Path, campaign: Campaign, *, row_group: int | None = None) -> Path:
    rows = [
        {
            "query_id": query,
            "candidate_id": f"{query}-{rank}",
            "rank": rank,
            "position": position,
            "worker": worker,
            "value": value,
            "hit": 1,
        }
        for query in sorted(campaign)
        for rank, votes in enumerate(campaign[query], start=1)
        for position, (worker, value) in enumerate(votes, start=1)
    ]
    path = folder / JUDGMENTS
    table = pa.Table.from_pylist(rows, schema=TABLES[JUDGMENTS])
    pq.write_table(table, path, row_group_size=row_group)
    return path
