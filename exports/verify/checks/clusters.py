"""Whether near-duplicate queries are where one cluster is, as far as the texts alone tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from exports.layout.files import PLACEMENTS
from exports.splits.clusters import Nearness, NearQuery, near_duplicates
from exports.verify.checks.records import Records
from exports.verify.facts import Facts
from exports.verify.findings import Findings, quote

KIND = "near-duplicates"


def check_clusters(records: Records, facts: Facts, findings: Findings) -> None:
    """Queries that are near by their words or by a shared positive are in the same cluster.

    Others are not, unless embeddings, or queries in no split, may have brought them together.
    """
    queries = [
        NearQuery(query, records.text_of[query], records.positives_of[query])
        for query in sorted(records.split_of)
    ]
    near = near_duplicates(queries, vectors=None, rules=Nearness(jaccard=facts.jaccard))
    for query, first in near.items():
        stated, other = (records.placements.get(each, {}).get("cluster") for each in (query, first))
        if stated != other:
            findings.differ(
                KIND,
                f"{PLACEMENTS}: queries {quote(first)} and {quote(query)} are near-duplicates in "
                f"different clusters",
            )
    for cluster, members in _members(records).items():
        if min(members) != cluster:
            findings.differ(KIND, f"{PLACEMENTS}: cluster {quote(cluster)} is named after another")
        if not facts.by_meaning:
            _check_reason(members, near, findings)


def _members(records: Records) -> dict[str, list[str]]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for query, row in records.placements.items():
        members[row["cluster"]].append(query)
    return members


def _check_reason(members: list[str], near: Mapping[str, str], findings: Findings) -> None:
    groups = {near.get(query) for query in members}
    if None not in groups and len(groups) > 1:
        names = " and ".join(map(quote, sorted(filter(None, groups))[:2]))
        findings.differ(
            KIND, f"{PLACEMENTS}: queries {names} are in one cluster, and nothing makes them near"
        )
