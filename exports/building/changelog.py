"""What differs between a release and the one before it: labels, queries, splits."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import orjson

from exports.layout.files import CHANGED_LABELS, CHANGES
from exports.splits.splits import SPLITS
from retrieval.ranking.records import QueryRecord, document, read


@dataclass(frozen=True)
class Change:
    """A line of changes.jsonl. Of a query itself, candidate and labels are None."""

    query_id: str
    candidate_id: str | None
    change: str  # changed, withdrawn; query withdrawn, query moved
    before: int | None
    after: int | None
    split_before: str
    split_after: str | None


@dataclass(frozen=True)
class Released:
    """A query as one release has it."""

    split: str
    labels: dict[str, int]  # by candidate, in rank order


BEFORE, NOW = "before", "now"
Both = tuple[str, Released | None, Released | None]  # a query's id; before; now


def write_changes(folder: Path, before: Path | None) -> dict[str, object]:
    """Writes changes.json, and changes.jsonl: each label and query that did not stay as it was.

    What is new is only counted. Both releases' files are in the order of the queries' ids, so one
    query of each is in memory at a time. Returns what changes.json holds.
    """
    counts: Counter[str] = Counter()
    with (folder / CHANGED_LABELS).open("wb") as file:
        for query, old, new in _paired(folder, before):
            counts.update(_counts(old, new))
            for change in _changes(query, old, new):
                counts[change.change] += 1
                file.write(orjson.dumps(asdict(change)) + b"\n")
    changes = _summary(counts, first=before is None)
    (folder / CHANGES).write_bytes(document(changes))
    return changes


def _summary(counts: Counter[str], *, first: bool) -> dict[str, object]:
    previous = {"queries": counts["queries before"], "labels": counts["labels before"]}
    return {
        "previous": None if first else previous,
        "labels": {key: counts[key] for key in ("added", "changed", "withdrawn")},
        "queries": {
            "added": counts["query added"],
            "withdrawn": counts["query withdrawn"],
            "moved": counts["query moved"],
        },
    }


def _counts(old: Released | None, new: Released | None) -> dict[str, int]:
    labels_before = old.labels if old else {}
    labels_now = new.labels if new else {}
    return {
        "queries before": int(old is not None),
        "labels before": len(labels_before),
        "query added": int(old is None),
        "added": len(labels_now.keys() - labels_before.keys()),
    }


def _changes(query: str, old: Released | None, new: Released | None) -> Iterator[Change]:
    if old is None:
        return
    split = new.split if new else None
    if split is None:
        yield Change(query, None, "query withdrawn", None, None, old.split, None)
    elif split != old.split:
        yield Change(query, None, "query moved", None, None, old.split, split)
    for candidate, before in old.labels.items():
        after = new.labels.get(candidate) if new else None
        if after != before:
            change = "withdrawn" if after is None else "changed"
            yield Change(query, candidate, change, before, after, old.split, split)


def _paired(folder: Path, before: Path | None) -> Iterator[Both]:
    """The queries of both releases in the order of their ids, those of the same id together."""
    sides = {BEFORE: before, NOW: folder} if before else {NOW: folder}
    streams = [_of_split(side, at, split) for side, at in sides.items() for split in SPLITS]
    merged = heapq.merge(*streams, key=itemgetter(0))
    for query, rows in groupby(merged, key=itemgetter(0)):
        releases = {side: released for _, side, released in rows}
        yield query, releases.get(BEFORE), releases.get(NOW)


def _of_split(side: str, folder: Path, split: str) -> Iterator[tuple[str, str, Released]]:
    for query in read(folder / f"{split}.jsonl"):
        yield query.id, side, Released(split, _labels(query))


def _labels(query: QueryRecord) -> dict[str, int]:
    return {candidate.id: candidate.label for candidate in query.candidates}
