"""Whether near-duplicate queries are where one cluster is, as far as the texts alone tell."""

from __future__ import annotations

from exports.checks.findings import Findings, shown
from exports.checks.records import Records
from exports.clusters import Nearness, NearQuery, near_duplicates
from exports.layout import PLACEMENTS


def check_clusters(records: Records, jaccard: float, findings: Findings) -> None:
    """Queries that are near by their words or by a shared positive are in the same cluster."""
    queries = [
        NearQuery(query, records.text_of[query], records.positives_of[query])
        for query in sorted(records.split_of)
    ]
    near = near_duplicates(queries, vectors=None, rules=Nearness(jaccard=jaccard))
    for query, first in near.items():
        stated, other = (records.placements.get(each, {}).get("cluster") for each in (query, first))
        if stated != other:
            findings.differ(
                "near-duplicates",
                f"{PLACEMENTS}: queries {shown(first)} and {shown(query)} are near-duplicates in "
                f"different clusters",
            )
