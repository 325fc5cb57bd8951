"""A published query keeps its split for good: changes that tell of another are a difference."""

from __future__ import annotations

from pathlib import Path

from exports.layout.files import CHANGED_LABELS, CHANGES
from exports.layout.rules import COUNT, TEXT
from exports.verify.findings import Findings, quote
from exports.verify.schemas import AtLeast, read_lines, read_object

SUMMARY = AtLeast({"queries": AtLeast({"moved": COUNT})})
LINE = AtLeast({"query_id": TEXT, "change": TEXT})
NEVER = "a published query never moves"


def check_split_changes(folder: Path, paths: set[str], findings: Findings) -> None:
    if CHANGES in paths:
        changes = read_object(folder / CHANGES, SUMMARY, findings)
        if changes is not None and (moved := changes["queries"]["moved"]):
            findings.differ(CHANGES, f"{CHANGES}: queries.moved is {moved}, but {NEVER}")
    if CHANGED_LABELS in paths:
        for number, _, change in read_lines(folder / CHANGED_LABELS, LINE, findings):
            if change["change"] == "query moved":
                query = quote(change["query_id"])
                findings.differ(
                    f"{CHANGED_LABELS}: moved",
                    f"{CHANGED_LABELS}, line {number}: query {query} moved, but {NEVER}",
                )
