"""An extract's queries, divided among the splits and written to their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from exports.layout.files import CAMPAIGN, COUNTS, PLACEMENTS, QUERIES
from exports.splits.clusters import Nearness, NearQuery, near_duplicates
from exports.splits.splits import SPLITS, Placement, SplitError, SplitQuery, split_queries
from retrieval.ranking.records import QueryRecord, read

__all__ = ["SplitAssignment", "SplitError", "assign_splits", "write_splits"]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]
Counts = Mapping[str, Any]  # a line of COUNTS


@dataclass(frozen=True)
class SplitAssignment:
    rows: Sequence[Mapping[str, Any]]  # of placements.jsonl
    nearness: Mapping[str, Any]  # what made two queries near


def assign_splits(
    extract: Path, *, way: str, before: Mapping[str, str | None], encode: Encode | None
) -> SplitAssignment:
    """`before`: the last split that each query was ever published in, see exports.splits.splits.

    `encode` makes a vector of length 1 of each text; None: texts and positives alone tell what
    is near. Clusters are found for either way: the card tells what a random split divides.
    """
    campaign = orjson.loads((extract / CAMPAIGN).read_bytes())
    queries = list(map(_near_query, read(extract / QUERIES)))
    with (extract / COUNTS).open("rb") as file:
        counts = list(map(orjson.loads, file))
    rules = Nearness()
    vectors = encode([query.text for query in queries]) if encode and queries else None
    clusters = near_duplicates(queries, vectors=vectors, rules=rules)
    placements = split_queries(
        [
            _split_query(query, row, clusters[query.id])
            for query, row in zip(queries, counts, strict=True)
        ],
        **{split: campaign["policy"][split] for split in SPLITS},
        seed=campaign["seeds"]["split"],
        way=way,
        before=before,
    )
    rows = [_row(row, clusters[row["id"]], placements[row["id"]]) for row in counts]
    return SplitAssignment(rows, {**rules.to_dict(), "vectors": vectors is not None})


def _near_query(record: QueryRecord) -> NearQuery:
    positives = frozenset(candidate.id for candidate in record.candidates if candidate.label)
    return NearQuery(record.id, record.query, positives)


def _split_query(query: NearQuery, row: Counts, cluster: str) -> SplitQuery:
    return SplitQuery(
        row["id"],
        complete=row["complete"],
        answerable=bool(query.positives),
        cluster=cluster,
        labelled=row["labelled"] > 0,
    )


def _row(row: Counts, cluster: str, placement: Placement) -> dict[str, Any]:
    return {
        "id": row["id"],
        "split": placement.split,
        "cluster": cluster,
        "candidates": row["candidates"],
        "labelled": row["labelled"],
        "complete": row["complete"],
        "reason": placement.reason,
    }


def write_splits(extract: Path, folder: Path, assignment: SplitAssignment) -> None:
    """A file for each split, of the extract's own lines, and one that says why."""
    with ExitStack() as stack:
        queries = stack.enter_context((extract / QUERIES).open("rb"))
        placements = stack.enter_context((folder / PLACEMENTS).open("wb"))
        files = {
            split: stack.enter_context((folder / f"{split}.jsonl").open("wb")) for split in SPLITS
        }
        for line, row in zip(queries, assignment.rows, strict=True):
            placements.write(orjson.dumps(row) + b"\n")
            if row["split"]:
                files[row["split"]].write(line)
