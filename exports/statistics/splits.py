"""What the split files alone say: one walk over all released queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from annotation.protocol.labels.majority import LabelSource
from exports.layout.schemas import control_digest
from exports.splits.splits import SPLITS
from exports.statistics.counts import SplitCounts, share
from exports.statistics.gold import Gold
from retrieval.ranking.records import QueryRecord, read

HIT_AT = (1, 5, 10, 30)
MAJORITY, AGGREGATOR = "majority", "aggregator"


def _splits() -> dict[str, SplitCounts]:
    return {split: SplitCounts() for split in SPLITS}


@dataclass
class Released:
    splits: dict[str, SplitCounts] = field(default_factory=_splits)
    candidates_at: Counter[int] = field(default_factory=Counter)  # by rank
    positives_at: Counter[int] = field(default_factory=Counter)
    first_positive_at: Counter[int] = field(default_factory=Counter)  # a query each
    sources: Counter[str] = field(default_factory=Counter)
    robust: int = 0
    controls: int = 0
    # By the retrievers that found a candidate: how many there are, and how many are positive.
    retrieved_by: Counter[tuple[str, ...]] = field(default_factory=Counter)
    positive_by: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def add(self, split: str, record: QueryRecord) -> None:
        positives = votes = 0
        for candidate in record.candidates:
            total = candidate.yes + candidate.no
            positives += candidate.label
            votes += total
            self.candidates_at[candidate.rank] += 1
            finders = tuple(sorted(candidate.found_by or ()))
            self.retrieved_by[finders] += 1
            if candidate.label:
                self.positives_at[candidate.rank] += 1
                self.positive_by[finders] += 1
            source = candidate.label_source or MAJORITY
            self.sources[source] += 1
            # A worker has one vote a triplet: without one of the majority's it still is one.
            self.robust += source == MAJORITY and abs(candidate.yes - candidate.no) > 1
        if positives:
            first = min(each.rank for each in record.candidates if each.label)
            self.first_positive_at[first] += 1
        negatives = len(record.candidates) - positives
        self.splits[split].add(positives=positives, negatives=negatives, votes=votes)

    def rows_by_rank(self, ranks: int) -> dict[str, object]:
        """`ranks`: how many the policy wants; a labelled dataset may have more."""
        last = max([ranks, *self.candidates_at])
        queries = sum(counts.candidates.n for counts in self.splits.values())
        return {
            "candidates_by_rank": [self.candidates_at[rank] for rank in range(1, last + 1)],
            "positives_by_rank": [self.positives_at[rank] for rank in range(1, last + 1)],
            # The QRC way: a query without a positive stays in the denominator.
            "hit_at": {str(k): share(self._hits(k), queries) for k in HIT_AT},
        }

    def _hits(self, k: int) -> int:
        return sum(n for rank, n in self.first_positive_at.items() if rank <= k)

    def rows_by_retriever(self) -> list[dict[str, object]]:
        """Those that one alone found, then those that several did; last of whom nothing tells."""
        return [
            {
                "found_by": list(finders),
                "candidates": candidates,
                "positives": self.positive_by[finders],
                "positive_share": share(self.positive_by[finders], candidates),
            }
            for finders, candidates in sorted(self.retrieved_by.items(), key=_alone_first)
        ]

    def robust_figures(self) -> dict[str, object]:
        """Labels whose majority stays when the votes of any one worker are taken away."""
        voted = self.sources[MAJORITY]
        return {"robust_labels": self.robust, "robust_share": share(self.robust, voted)}

    def label_sources(self) -> dict[str, int]:
        """Most campaigns have no aggregator: their figures do not name it."""
        sources = [each for each in get_args(LabelSource) if each != AGGREGATOR]
        named = [*sources, *([AGGREGATOR] if self.sources[AGGREGATOR] else [])]
        return {source: self.sources[source] for source in named}


def _alone_first(row: tuple[tuple[str, ...], int]) -> tuple[bool, int, tuple[str, ...]]:
    return not row[0], len(row[0]), row[0]


def read_released(folder: Path, gold: Gold, controls: Collection[str]) -> Released:
    """Counts the labels for the gold; `controls` are the digests of what nobody may find inside."""
    released = Released()
    for split in SPLITS:
        for record in read(folder / f"{split}.jsonl"):
            released.add(split, record)
            if controls:
                released.controls += controls_in(record, controls)
            if gold.votes:
                for candidate in record.candidates:
                    gold.add(record.id, candidate)
    return released


def controls_in(record: QueryRecord, controls: Collection[str]) -> int:
    return sum(
        control_digest(record.query, candidate.question) in controls
        for candidate in record.candidates
    )
