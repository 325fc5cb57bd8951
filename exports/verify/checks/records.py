"""Whether the split files hold what a release's may: queries, candidates, labels, no leaks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from annotation.protocol.labels.majority import Label, strict_majority
from core.text.clean import normalise_question, pair_key
from exports.layout.files import GOLD, PLACEMENTS
from exports.splits.splits import SPLITS
from exports.statistics.claims import Claim
from exports.verify.checks.gold import CheckedGold, check_gold
from exports.verify.checks.pooled_ranks import pool_faults
from exports.verify.facts import Facts
from exports.verify.findings import Findings, quote
from exports.verify.schemas import PLACEMENT_SCHEMA, read_lines, record_schema
from retrieval.ranking.records import EXPERT, ID_LENGTH, CandidateRecord, QueryRecord, line, parse

MADE = {"expert": f"that of {GOLD}", "aggregator": "that of the aggregator"}
LAST_DECIMAL = 0.00011  # of a posterior
DISJOINT = "in two splits"


@dataclass
class Records:
    """What is known of the queries; linear in them, never in their candidates' texts."""

    placements: Mapping[str, Mapping[str, Any]]
    gold: CheckedGold
    split_of: dict[str, str] = field(default_factory=dict)
    text_of: dict[str, str] = field(default_factory=dict)
    positives_of: dict[str, frozenset[str]] = field(default_factory=dict)
    imported: int = 0  # labels that no votes make

    def shared(self) -> Iterator[tuple[str, str, str]]:
        """What, and the two splits that it is in: clusters, texts and positives."""
        owners: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for query, split in self.split_of.items():
            values = [f"the text {quote(normalise_question(self.text_of[query]))}"]
            if row := self.placements.get(query):
                values.append(f"cluster {quote(row['cluster'])}")
            values += [f"positive {positive}" for positive in sorted(self.positives_of[query])]
            for value in values:
                for other in owners[value]:
                    if other != split:
                        yield value, other, split
                owners[value].setdefault(split, query)


def check_records(folder: Path, facts: Facts, findings: Findings) -> Records:
    placements = _placements(folder, facts, findings)
    records = Records(placements, check_gold(folder, placements, facts, findings))
    for split in SPLITS:
        last = ""
        for where, record in _read(folder / f"{split}.jsonl", facts, findings):
            if record.id <= last:
                findings.differ(
                    f"order of {split}", f"{where}: query {quote(record.id)} is out of order"
                )
            last = max(last, record.id)
            _check_record(where, record, split, facts, records, findings)
    for query, row in records.placements.items():
        if row["split"] and query not in records.split_of:
            findings.differ(
                PLACEMENTS, f"{PLACEMENTS}: query {quote(query)} is not in {row['split']}.jsonl"
            )
    return records


def check_disjoint(records: Records, findings: Findings) -> None:
    """Not where the queries were dealt out at random."""
    for value, one, other in records.shared():
        findings.differ(DISJOINT, f"{one}.jsonl and {other}.jsonl: {value} is in both")


def _placements(folder: Path, facts: Facts, findings: Findings) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    last = ""
    for number, _, row in read_lines(folder / PLACEMENTS, PLACEMENT_SCHEMA, findings):
        where = f"{PLACEMENTS}, line {number}"
        if row["id"] <= last:
            findings.differ(PLACEMENTS, f"{where}: query {quote(row['id'])} is out of order")
        if (row["split"] is None) != (row["reason"] is not None):
            findings.differ(PLACEMENTS, f"{where}: a reason is for a query in no split")
        wanted = facts.wanted or max(1, row["candidates"])
        if row["complete"] != (row["labelled"] == row["candidates"] == wanted):
            findings.differ(PLACEMENTS, f"{where}: complete is not what the counts say")
        if row["labelled"] > row["candidates"]:
            findings.differ(PLACEMENTS, f"{where}: more labels than candidates")
        last = max(last, row["id"])
        rows[row["id"]] = row
    return rows


def _read(path: Path, facts: Facts, findings: Findings) -> Iterator[tuple[str, QueryRecord]]:
    schema = record_schema(facts.retrievers, facts.extra)
    for number, text, _ in read_lines(path, schema, findings):
        record = parse(text)
        where = f"{path.name}, line {number}"
        if line(record) != text:
            findings.differ(f"form of {path.name}", f"{where}: not written as a release's lines")
        findings.checked += len(record.candidates)
        yield where, record


def _check_record(
    where: str,
    record: QueryRecord,
    split: str,
    facts: Facts,
    records: Records,
    findings: Findings,
) -> None:
    name = f"query {quote(record.id)}"
    if other := records.split_of.setdefault(record.id, split):
        if other != split:
            findings.differ(DISJOINT, f"{where}: {name} is in {other}.jsonl, too")
        elif record.id in records.text_of:
            findings.differ(DISJOINT, f"{where}: {name} is there twice")
    records.text_of[record.id] = record.query
    positives = frozenset(each.id for each in record.candidates if each.label)
    records.positives_of[record.id] = positives
    derived = [_derived(record.id, each, records.gold, facts) for each in record.candidates]
    records.imported += sum(label.source == "import" for label in derived)
    for fault in _faults(record, facts):
        findings.differ(f"candidates of {split}", f"{where}: {name}: {fault}")
    for fault in _label_faults(record, derived, records.gold, facts):
        findings.differ(f"candidates of {split}", f"{where}: {name}: {fault}")
    for fault in _placement_faults(record, split, facts, records.placements.get(record.id)):
        findings.differ(f"placements of {split}", f"{where}: {name}: {fault}")


def _faults(record: QueryRecord, facts: Facts) -> Iterator[str]:
    if not record.candidates:
        yield "no candidates"
    if len({each.id for each in record.candidates}) < len(record.candidates):
        yield "a candidate is there twice"
    ranks = [each.rank for each in record.candidates]
    if any(one >= other for one, other in pairwise(ranks)):
        yield "ranks do not rise"
    if facts.retrievers:
        yield from pool_faults(record.candidates, facts)
    elif not facts.imported and _rise(record.candidates):
        yield "scores rise with the ranks"
    for candidate in record.candidates:
        if candidate.id != pair_key(candidate.question, candidate.answer)[:ID_LENGTH]:
            yield f"candidate {quote(candidate.id)}: not the id of its question and answer"


def _rise(candidates: Sequence[CandidateRecord]) -> bool:
    scores = [each.score for each in candidates if each.score is not None]
    return any(one < other for one, other in pairwise(scores))


def _derived(query: str, candidate: CandidateRecord, gold: CheckedGold, facts: Facts) -> Label:
    """Where votes and experts make none, that of an imported dataset is taken as it is."""
    return gold.label_of(
        query,
        candidate.id,
        votes=candidate.yes + candidate.no,
        yes=candidate.yes,
        imported=candidate.label if facts.imported else None,
        stated=candidate,
    )


def _label_faults(
    record: QueryRecord, derived: Sequence[Label], gold: CheckedGold, facts: Facts
) -> Iterator[str]:
    for candidate, label in zip(record.candidates, derived, strict=True):
        claim = gold.claim_on(record.id, candidate.id, candidate)
        for fault in (_label_fault(candidate, label, facts), _claim_fault(candidate, claim, facts)):
            if fault:
                yield f"candidate {quote(candidate.id)}: {fault}"
    for missing in sorted(gold.decided(record.id) - {each.id for each in record.candidates}):
        yield f"candidate {quote(missing)}: decided by {GOLD}, but not there"


def _label_fault(candidate: CandidateRecord, label: Label, facts: Facts) -> str | None:
    votes = f"{candidate.yes} yes, {candidate.no} no"
    if label.value is None:
        return f"votes {votes} make no label"
    if candidate.label != label.value:
        made = MADE.get(label.source or "", f"the majority of {votes}")
        return f"label {candidate.label}, {made} is {label.value}"
    if facts.sourced and candidate.label_source != label.source:
        return f"label_source {quote(candidate.label_source)}, it is {label.source}"
    return None


def _claim_fault(candidate: CandidateRecord, claim: Claim, facts: Facts) -> str | None:
    if not facts.aggregated:
        return None
    majority = strict_majority(candidate.yes + candidate.no, candidate.yes)
    if candidate.majority != majority:
        return f"majority {candidate.majority}, that of its votes is {majority}"
    said = claim.said if candidate.label_source == EXPERT else None
    if candidate.overruled != said:
        return f"overruled {candidate.overruled}, the aggregator says {said}"
    stated, made = candidate.posterior, claim.posterior
    if (stated is None) != (made is None) or abs((stated or 0) - (made or 0)) > LAST_DECIMAL:
        return f"posterior {stated}, by the votes and controls {made}"
    return None


def _placement_faults(
    record: QueryRecord, split: str, facts: Facts, row: Mapping[str, Any] | None
) -> Iterator[str]:
    if row is None:
        yield f"{PLACEMENTS} does not have it"
        return
    if row["split"] != split:
        yield f"{PLACEMENTS} has it in {row['split'] or 'no split'}"
    if row["labelled"] != len(record.candidates):
        yield f"{len(record.candidates)} candidates, {PLACEMENTS} says {row['labelled']}"
    highest = max((each.rank for each in record.candidates), default=0)
    if highest > row["candidates"] and not facts.imported:
        yield f"rank {highest} of {row['candidates']} candidates"
    wanted = facts.wanted or row["candidates"]
    if split != "train" and len(record.candidates) != wanted:
        yield f"{len(record.candidates)} candidates, in {split} it must have all {wanted}"
