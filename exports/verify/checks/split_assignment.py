"""Whether a campaign's first splits are those that its policy, its clusters and its seed make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exports.layout.files import PLACEMENTS, RELEASE
from exports.splits.splits import SPLITS, SplitError, SplitQuery, split_queries
from exports.verify.checks.records import Records
from exports.verify.facts import Facts
from exports.verify.findings import Findings, quote
from exports.verify.rebuild.compare_files import other_versions

NOT_DRAWN = "{}: the split assignment was not drawn again: {}."


def check_split_assignment(records: Records, facts: Facts, findings: Findings) -> None:
    """Draws them again."""
    if why := next(_obstacles(records, facts), None):
        findings.unchecked.append(NOT_DRAWN.format(PLACEMENTS, why))
        return
    try:
        placements = split_queries(
            [_split_query(row, records) for row in records.placements.values()],
            **_sizes(facts),
            seed=facts.campaign["seeds"]["split"],
            way=facts.release["options"]["split"],
            before={},
        )
    except SplitError as error:
        findings.differ(PLACEMENTS, f"{PLACEMENTS}: no such splits can be drawn: {error}")
        return
    for query, row in records.placements.items():
        if placements[query].split != row["split"]:
            findings.differ(
                f"{PLACEMENTS}: splits",
                f"{PLACEMENTS}: query {quote(query)} is in {row['split'] or 'no split'}, the seed "
                f"draws it for {placements[query].split or 'none'}",
            )


def _obstacles(records: Records, facts: Facts) -> Iterator[str]:
    if facts.release["previous"]:
        yield f"that follows from the releases before, which {RELEASE} names the last of"
    if facts.imported:
        yield "the dataset may have come with splits"
    if any(each.startswith("scipy ") for each in other_versions(facts.release["versions"])):
        yield "another version of scipy may draw others"
    sizes = _sizes(facts)
    takes_all = isinstance(sizes["train"], float) and sizes["train"] > 0
    if not facts.at_random and not takes_all and any(map(_left_out, records.placements.values())):
        yield "no file shows which of the queries in no split are answerable"


def _left_out(row: Mapping[str, Any]) -> bool:
    return row["labelled"] > 0 and row["split"] is None


def _sizes(facts: Facts) -> dict[str, int | float]:
    return {split: facts.campaign["policy"][split] for split in SPLITS}


def _split_query(row: Mapping[str, Any], records: Records) -> SplitQuery:
    return SplitQuery(
        row["id"],
        complete=row["complete"],
        answerable=bool(records.positives_of.get(row["id"])),
        cluster=row["cluster"],
        labelled=row["labelled"] > 0,
    )
