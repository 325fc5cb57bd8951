"""Whether the experts' labels are on triplets that the campaign has."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from exports.layout.files import GOLD
from exports.verify.findings import Findings, quote
from exports.verify.schemas import GOLD_SCHEMA, read_lines


def check_gold(folder: Path, queries: Collection[str], findings: Findings) -> int:
    """How many labels there are."""
    seen = set()
    for number, _, row in read_lines(folder / GOLD, GOLD_SCHEMA, findings):
        where = f"{GOLD}, line {number}"
        key = row["query_id"], row["candidate_id"], row["expert"]
        if row["query_id"] not in queries:
            findings.differ(GOLD, f"{where}: no query of the campaign: {quote(row['query_id'])}")
        if key in seen:
            findings.differ(GOLD, f"{where}: the expert labelled that triplet twice")
        seen.add(key)
    return len(seen)
