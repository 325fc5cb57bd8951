"""What was submitted for a campaign, and how its controls were answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROWS = 16_384
KINDS = ("positive", "negative")


@dataclass
class AssignmentCounts:
    cents: int = 0
    reviewed: int = 0
    failed: int = 0
    discarded: int = 0
    refused: int = 0  # rejected by a person: they did not fail
    by_status: Counter[str] = field(default_factory=Counter)
    workers: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)

    def assignments(self) -> dict[str, int]:
        return {
            "submitted": self.by_status.total(),
            "approved": self.by_status["approved"],
            "rejected": self.by_status["rejected"],
            "paid_but_discarded": self.discarded,
        }

    def control_failures(self) -> dict[str, int]:
        """Of assignments, and how many workers had at least one."""
        return {"reviewed": self.reviewed, "failed": self.failed, "workers": len(self.failing)}


@dataclass
class Controls:
    judged: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    digests: set[str] = field(default_factory=set)

    def figures(self, inside: int) -> dict[str, object]:
        return {
            "judged": {kind: self.judged[kind] for kind in KINDS},
            "missed": {kind: self.missed[kind] for kind in KINDS},
            "inside_release": inside,
        }


def read_assignments(path: Path) -> AssignmentCounts:
    work = AssignmentCounts()
    columns = ("worker", "status", "passed", "discarded", "cents")
    for worker, status, passed, discarded, cents in rows(path, *columns):
        work.cents += cents
        work.reviewed += passed is not None
        work.discarded += discarded
        work.refused += status == "rejected" and passed is not False
        work.by_status[status] += 1
        work.workers.add(worker)
        if passed is False:
            work.failed += 1
            work.failing.add(worker)
    return work


def read_controls(path: Path) -> Controls:
    controls = Controls()
    for kind, control, expected, given in rows(path, "kind", "control", "expected", "given"):
        controls.judged[kind] += 1
        controls.missed[kind] += given != expected
        controls.digests.add(control)
    return controls


def rows(path: Path, *columns: str) -> Iterator[tuple[Any, ...]]:
    """A table's rows, a few thousand in memory at a time."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=list(columns)):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
