"""Extracts of campaigns that no database ever held, made of a seed: inputs of a build.

The record holds together as a real one does: labels are the majority of the valid votes, ties are
broken or stay unresolved, failed work is rejected, an excluded worker's votes are discarded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.protocol.policy.policy import Policy
from core.text.clean import pair_key
from exports.layout.files import (
    ASSIGNMENTS,
    CAMPAIGN,
    CONTROLS,
    COUNTS,
    GOLD,
    JUDGMENTS,
    PLACEMENTS,
    QUERIES,
    RELEASE,
)
from exports.layout.schemas import TABLES, control_digest
from exports.splits.splits import SPLITS
from retrieval.ranking.records import ID_LENGTH, CandidateRecord, QueryRecord, document, line, read

WORKERS = {"ada": 0.97, "bob": 0.9, "cleo": 0.95, "dan": 0.85, "eve": 0.5}
SPAMMER = "eve"
CENTS = 19
NOUNS = ["moon", "rain", "tea", "bread", "iron", "glass", "river", "horse", "piano", "candle"]
VERBS = ["make", "find", "keep", "break", "paint", "measure"]


@dataclass
class Extract:
    """What is written to the folder, in plain values."""

    queries: list[QueryRecord] = field(default_factory=list)
    counts: list[dict[str, Any]] = field(default_factory=list)
    judgments: list[dict[str, Any]] = field(default_factory=list)
    assignments: list[dict[str, Any]] = field(default_factory=list)
    controls: list[dict[str, Any]] = field(default_factory=list)
    gold: list[dict[str, Any]] = field(default_factory=list)
    campaign: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / QUERIES).write_bytes(b"".join(map(line, self.queries)))
        _write_lines(folder / COUNTS, self.counts)
        _write_lines(folder / GOLD, self.gold)
        for name, rows in (
            (JUDGMENTS, self.judgments),
            (ASSIGNMENTS, self.assignments),
            (CONTROLS, self.controls),
        ):
            pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[name]), folder / name)
        (folder / CAMPAIGN).write_bytes(document(self.campaign))
        (folder / "instructions").mkdir(exist_ok=True)
        (folder / "instructions" / "1.md").write_text("# Same meaning, same answer?\n")
        return folder


def random_extract(
    seed: int, *, queries: int = 12, candidates: int = 5, shared: float = 0.2, **policy: Any
) -> Extract:
    """`shared`: how often a query is a near copy of an earlier one, with a pair in common."""
    rules = Policy.from_dict(
        {"candidates_per_query": candidates, "max_votes": 4, "hit_size": 3}
        | {"train": 0.6, "dev": 0.2, "test": 0.2}
        | policy
    )
    return _Maker(Random(seed), rules).campaign(queries, shared)


def spread(extract: Extract, folder: Path, *, seed: int = 0) -> Path:
    """The extract's folder with its labelled queries dealt out to the splits: not by our rules."""
    extract.write(folder)
    random = Random(seed)
    lines: dict[str, list[bytes]] = {split: [] for split in SPLITS}
    placements = []
    for number, (query, counted) in enumerate(
        zip(read(folder / QUERIES), extract.counts, strict=True)
    ):
        complete = counted["complete"] and number % 3 > 0
        split = random.choice(("dev", "test")) if complete else "train"
        given = split if query.candidates else None
        if given:
            lines[split].append(line(query))
        reason = None if given else "no candidate has a label"
        placements.append({**counted, "split": given, "cluster": query.id, "reason": reason})
    for split, written in lines.items():
        (folder / f"{split}.jsonl").write_bytes(b"".join(written))
    order = ("id", "split", "cluster", "candidates", "labelled", "complete", "reason")
    _write_lines(folder / PLACEMENTS, [{key: row[key] for key in order} for row in placements])
    options = {"partial": True, "split": "random", "judgments": True}
    (folder / RELEASE).write_bytes(document({"campaign": "demo", "number": 1, "options": options}))
    (folder / QUERIES).unlink()
    (folder / COUNTS).unlink()
    return folder


def _write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


class Pair(NamedTuple):
    question: str
    answer: str

    @property
    def id(self) -> str:
        return pair_key(self.question, self.answer)[:ID_LENGTH]


class _Maker:
    """Draws one campaign."""

    def __init__(self, random: Random, policy: Policy) -> None:
        self.random = random
        self.policy = policy
        self.made = Extract()
        self.hits = 0
        self.statuses = {"labelled": 0, "open": 0, "unresolved": 0}
        self.truth: dict[tuple[str, str], int] = {}
        self.pairs: dict[int, Pair] = {}

    def campaign(self, queries: int, shared: float) -> Extract:
        texts: list[str] = []
        for number in range(queries):
            near = texts and self.random.random() < shared
            text = self._near(self.random.choice(texts)) if near else self._text(number)
            texts.append(text)
            self._query(f"q{number:03d}", text)
        self._fail_once(SPAMMER)
        self.made.campaign = self._facts(queries)
        return self.made

    def _text(self, number: int) -> str:
        verb, noun = self.random.choice(VERBS), self.random.choice(NOUNS)
        return f"how do i {verb} a {noun} number {number} without a {self.random.choice(NOUNS)}?"

    def _near(self, text: str) -> str:
        return text.upper() if self.random.random() < 0.5 else text.removesuffix("?") + " ?!"

    def _query(self, query: str, text: str) -> None:
        found: list[Pair] = []
        for rank in range(1, self.policy.candidates_per_query + 1):
            # A pair of few: some are candidates of several queries.
            number = self.random.randrange(1000)
            pair = self.pairs.setdefault(number, _pair(text, f"{number}"))
            found.append(_pair(text, f"{query} {rank}") if pair in found else pair)
        records = [self._candidate(query, pair, rank) for rank, pair in enumerate(found, 1)]
        labelled = [record for record in records if record is not None]
        self.made.queries.append(QueryRecord(query, text, labelled))
        self.made.counts.append(
            {
                "id": query,
                "candidates": len(found),
                "labelled": len(labelled),
                "complete": len(labelled) == len(found),
            }
        )

    def _candidate(self, query: str, pair: Pair, rank: int) -> CandidateRecord | None:
        candidate = pair.id
        truth = int(self.random.random() < 0.6 / rank)
        self.truth[query, candidate] = truth
        votes = self._votes(query, candidate, rank, truth)
        yes, no = sum(votes), len(votes) - sum(votes)
        if yes == no:
            self.statuses["unresolved"] += 1
            return None
        self.statuses["labelled"] += 1
        if self.random.random() < 0.1:
            self._gold(query, candidate, truth)
        return CandidateRecord(
            id=candidate,
            question=pair.question,
            answer=pair.answer,
            rank=rank,
            score=round(1 - rank / 100, 6),
            label=int(yes > no),
            yes=yes,
            no=no,
        )

    def _votes(self, query: str, candidate: str, rank: int, truth: int) -> list[int]:
        """Two votes, a third on a tie; a few triplets stay without a majority to the end."""
        self.hits += 1
        workers = self.random.sample(sorted(WORKERS.keys() - {SPAMMER}), 4)
        if self.random.random() < 0.03:
            votes = [truth, 1 - truth, 1 - truth, truth]
        else:
            votes = [self._vote(worker, truth) for worker in workers[:3]]
            votes = votes[: 2 if votes[0] == votes[1] else 3]
        for position, (worker, value) in enumerate(zip(workers, votes, strict=False), start=1):
            self._work(worker, passed=True)
            self.made.judgments.append(
                {
                    "query_id": query,
                    "candidate_id": candidate,
                    "rank": rank,
                    "position": position,
                    "worker": digest(worker),
                    "value": value,
                    "hit": self.hits,
                }
            )
        return votes

    def _vote(self, worker: str, truth: int) -> int:
        return truth if self.random.random() < WORKERS[worker] else 1 - truth

    def _work(self, worker: str, *, passed: bool) -> None:
        self.made.assignments.append(
            {
                "hit": self.hits,
                "worker": digest(worker),
                "status": "approved" if passed else "rejected",
                "passed": passed,
                "discarded": passed and worker == SPAMMER,
                "cents": CENTS if passed else 0,
            }
        )
        for kind, expected in (("positive", 1), ("negative", 0)):
            self.made.controls.append(
                {
                    "hit": self.hits,
                    "worker": digest(worker),
                    "kind": kind,
                    "control": control_digest(f"{kind} control", f"{self.hits % 9}"),
                    "expected": expected,
                    "given": expected if passed or kind == "positive" else 1 - expected,
                }
            )

    def _fail_once(self, worker: str) -> None:
        """A piece of work that was paid and discarded, and one that was rejected."""
        for passed in (True, False):
            self.hits += 1
            self._work(worker, passed=passed)

    def _gold(self, query: str, candidate: str, truth: int) -> None:
        self.made.gold.append(
            {
                "query_id": query,
                "candidate_id": candidate,
                "expert": digest("expert"),
                "label": truth,
                "blind_label": None,
                "source": "sample",
            }
        )

    def _facts(self, queries: int) -> dict[str, Any]:
        """The shape of campaign.json, as exports.record writes it."""
        spent = sum(row["cents"] for row in self.made.assignments)
        return {
            "campaign": "demo",
            "crowd": "mturk",
            "policy": self.policy.to_dict(),
            "policy_sha256": self.policy.digest(),
            "seeds": {"campaign": 7, "sample": 11, "split": 7},
            "queries": {"origin": "sample", "duplicates_dropped": 0, "total": queries},
            "corpus": {"name": "coffee", "sources": ["tests"]},
            "retriever": {
                "model": "small-model",
                "form": "QQA",
                "dimension": 4,
                "pairs": 1000,
                "database_digest": "d1" * 32,
                "model_fingerprint": "f1" * 32,
                "versions": {"faiss": "1"},
            },
            "instructions": [
                {
                    "version": 1,
                    "file": "instructions/1.md",
                    "sha256": hashlib.sha256(b"# Same meaning, same answer?\n").hexdigest(),
                }
            ],
            "sources": [{"source": "tests", "license": "CC0-1.0", "pairs": 1000}],
            "triplets": {"triplets": sum(self.statuses.values()), **self.statuses},
            "excluded_workers": [digest(SPAMMER)],
            "rejection_reasons": {"unanswered": 0, "missed": 1, "manual": 0},
            "cost_cents": spent + 5,
            "bonus_cents": 5,
        }


def _pair(text: str, name: str) -> Pair:
    mark = hashlib.sha256(name.encode()).hexdigest()[:ID_LENGTH]
    return Pair(f"{text} as asked {mark}", f'the "answer"\tof {mark}, ü 日本')


def digest(worker: str) -> str:
    return hashlib.sha256(f"salt {worker}".encode()).hexdigest()[:20]
