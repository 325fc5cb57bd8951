"""Whether the labels of a release are those that its judgments and its experts make."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from exports.layout.files import JUDGMENTS, PLACEMENTS
from exports.layout.schemas import control_digest
from exports.splits.splits import SPLITS
from exports.statistics.votes import Votes, numbers
from exports.verify.checks.gold import CheckedGold
from exports.verify.facts import Facts
from exports.verify.findings import Findings, quote
from retrieval.ranking.records import CandidateRecord, QueryRecord, read

KIND = "labels and judgments"


class Judged(NamedTuple):
    rank: int
    votes: int
    yes: int


Query = tuple[str, dict[str, Judged]]  # by candidate


def judged_queries(batches: Iterable[Votes]) -> Iterator[Query]:
    """In the order of the file."""
    for votes in batches:
        columns = (
            votes.query.tolist(),
            votes.table.column("candidate_id").take(votes.start).to_pylist(),
            numbers(votes.table, "rank")[votes.start].tolist(),
            votes.votes.tolist(),
            votes.yes.tolist(),
        )
        queries: list[dict[str, Judged]] = [{} for _ in votes.query_ids]
        for query, candidate, *counts in zip(*columns, strict=True):
            queries[query][candidate] = Judged(*counts)
        yield from zip(votes.query_ids, queries, strict=True)


@dataclass
class LabelCheck:
    folder: Path
    facts: Facts
    placements: Mapping[str, Mapping[str, Any]]
    gold: CheckedGold
    controls: Collection[str]  # digests
    findings: Findings

    def check(self, queries: Iterable[Query]) -> None:
        """Both sides come by query id: one of each is in memory at a time."""
        released = heapq.merge(*map(self._of_split, SPLITS), key=itemgetter(0))
        record = next(released, None)
        for query, judged in queries:
            while record is not None and record[0] < query:
                self._compare(record[1], record[2], {})
                record = next(released, None)
            self._check_placement(query, judged)
            while record is not None and record[0] == query:
                self._compare(record[1], record[2], judged)
                record = next(released, None)
        while record is not None:
            self._compare(record[1], record[2], {})
            record = next(released, None)

    def _of_split(self, split: str) -> Iterator[tuple[str, str, QueryRecord]]:
        name = f"{split}.jsonl"
        for record in read(self.folder / name):
            yield record.id, name, record

    def _compare(self, name: str, record: QueryRecord, judged: Mapping[str, Judged]) -> None:
        where = f"{name}: query {quote(record.id)}, candidate"
        for candidate in record.candidates:
            if fault := self._fault(record.id, candidate, judged.get(candidate.id)):
                self.findings.differ(KIND, f"{where} {quote(candidate.id)}: {fault}")
            if control_digest(record.query, candidate.question) in self.controls:
                self.findings.differ("controls", f"{where} {quote(candidate.id)}: a control")
        for missing in sorted(judged.keys() - {each.id for each in record.candidates}):
            if self._label(record.id, missing, judged[missing]) is not None:
                self.findings.differ(
                    KIND, f"{where} {quote(missing)}: labelled by {JUDGMENTS}, but not there"
                )

    def _fault(self, query: str, candidate: CandidateRecord, judged: Judged | None) -> str | None:
        if judged is None:
            votes = candidate.yes + candidate.no
            return f"{votes} votes, none in {JUDGMENTS}" if votes else None
        yes, no = judged.yes, judged.votes - judged.yes
        if (candidate.yes, candidate.no) != (yes, no):
            stated = f"{candidate.yes} yes, {candidate.no} no"
            return f"votes {stated}, in {JUDGMENTS} {yes} yes, {no} no"
        label = self._label(query, candidate.id, judged)
        if candidate.label != label and not (label is None and self.facts.imported):
            return f"label {candidate.label}, by {JUDGMENTS} {label}"
        if candidate.rank != judged.rank:
            return f"rank {candidate.rank}, in {JUDGMENTS} {judged.rank}"
        return None

    def _label(self, query: str, candidate: str, judged: Judged) -> int | None:
        return self.gold.label_of(query, candidate, votes=judged.votes, yes=judged.yes).value

    def _check_placement(self, query: str, judged: Mapping[str, Judged]) -> None:
        labels = [self._label(query, candidate, each) for candidate, each in judged.items()]
        unvoted = self.gold.decided(query) - judged.keys()  # experts alone made these
        labelled = len(labels) - labels.count(None) + len(unvoted)
        name, row = f"{PLACEMENTS}: query {quote(query)}", self.placements.get(query)
        if row is None:
            self.findings.differ(PLACEMENTS, f"{name} has judgments, but no line")
            return
        others = self.facts.imported and labelled < row["labelled"]
        if labelled != row["labelled"] and not others:
            self.findings.differ(
                PLACEMENTS, f"{name}: labelled {row['labelled']}, by {JUDGMENTS} {labelled}"
            )
        if len(judged) > row["candidates"]:
            self.findings.differ(PLACEMENTS, f"{name}: {JUDGMENTS} has more candidates")
