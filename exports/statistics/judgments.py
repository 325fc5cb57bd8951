"""What the judgments say: one walk over all valid votes, on released triplets and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from annotation.protocol.labels.derivation import Evidence, derive_label
from annotation.protocol.policy.policy import Policy
from exports.layout.expert_votes import TripletKey
from exports.statistics.agreement import VoteCounts
from exports.statistics.claims import NO_CLAIM, ByTriplet
from exports.statistics.gold import Gold
from exports.statistics.votes import Ints, Votes, read_votes
from exports.statistics.workers import WorkerTally

# How many votes there are in all, and how many for 1, in one number.
MOST_VOTES = 1 << 20
CLAIMED = [(said, is_sure) for said in (None, 0, 1) for is_sure in (False, True)]


@dataclass
class Judged:
    policy: Policy
    gold: Gold
    # Whose status is unresolved unless votes, or experts, make their labels.
    sent_to_experts: set[TripletKey] = field(default_factory=set)
    claims: ByTriplet = field(default_factory=dict)
    workers: WorkerTally = field(default_factory=WorkerTally)
    statuses: Counter[str] = field(default_factory=Counter)  # of the triplets with a vote
    ties_broken: int = 0
    queries: int = 0
    pairs: list[Ints] = field(default_factory=list)  # see _by_query
    units: list[Ints] = field(default_factory=list)

    def add(self, votes: Votes) -> None:
        self.workers.add(votes)
        decided = self._decided(votes)
        self._end_asking(votes, decided)
        size, yes = votes.yes_among_first(self.policy.annotators)
        # A tie is what the first round of annotators leaves without a majority.
        self.ties_broken += int(((decided == "labelled") & (2 * yes == size)).sum())
        self._count(votes)
        self._note_unresolved_gold(votes, decided)
        self.queries += len(votes.query_ids)

    def _decided(self, votes: Votes) -> np.ndarray:
        """The status of each triplet: the rule is asked once for each kind of votes."""
        tallies = votes.votes * MOST_VOTES + votes.yes
        kinds, kind = np.unique(tallies * len(CLAIMED) + self._claimed(votes), return_inverse=True)
        statuses = [self._status(*divmod(int(each), len(CLAIMED))) for each in kinds]
        for status, n in zip(statuses, np.bincount(kind), strict=True):
            self.statuses[status] += int(n)
        return np.array(statuses, dtype=object)[kind]

    def _claimed(self, votes: Votes) -> Ints:
        """The place of each triplet's claim in CLAIMED."""
        if not self.claims:
            return np.zeros(len(votes.votes), np.int64)
        claims = [
            self.claims.get((query, votes.candidate(triplet)), NO_CLAIM)
            for number, query in enumerate(votes.query_ids)
            for triplet in votes.triplets_of(number)
        ]
        return np.array([CLAIMED.index((one.said, one.is_sure)) for one in claims], np.int64)

    def _status(self, tally: int, claim: int) -> str:
        said, is_sure = CLAIMED[claim]
        evidence = Evidence(*divmod(tally, MOST_VOTES), said=said, is_sure=is_sure)
        return derive_label(evidence, self.policy).status

    def _count(self, votes: Votes) -> None:
        self.units.append(self._by_query(votes.query, votes.votes * MOST_VOTES + votes.yes))
        two = votes.votes > 1
        start = votes.start[two]
        first_two = 2 * votes.value[start] + votes.value[start + 1]
        self.pairs.append(self._by_query(votes.query[two], first_two))

    def _by_query(self, query: Ints, kind: Ints) -> Ints:
        """Three columns: the query's row, a kind, how many of its triplets are of that kind."""
        kinds = int(kind.max(initial=0)) + 1
        keys, triplets = np.unique(query * kinds + kind, return_counts=True)
        return np.vstack([self.queries + keys // kinds, keys % kinds, triplets])

    def _end_asking(self, votes: Votes, decided: np.ndarray) -> None:
        asked_of = {query for query, _ in self.sent_to_experts}
        for number, query in enumerate(votes.query_ids):
            for triplet in votes.triplets_of(number) if query in asked_of else ():
                key = query, votes.candidate(triplet)
                if key in self.sent_to_experts:
                    self.sent_to_experts.discard(key)
                    if decided[triplet] == "open":
                        decided[triplet] = "unresolved"
                        self.statuses["open"] -= 1
                        self.statuses["unresolved"] += 1

    def end(self) -> None:
        """Those without a vote, which only the gold tells of."""
        for key in self.sent_to_experts:
            experts = self.gold.votes.get(key)
            if experts and experts.decide:
                continue
            self.statuses["unresolved"] += 1
            if experts:
                self.gold.unresolved.add(key)

    def _note_unresolved_gold(self, votes: Votes, decided: np.ndarray) -> None:
        for number, query in enumerate(votes.query_ids):
            if query in self.gold.queries:
                for triplet in votes.triplets_of(number):
                    key, status = (query, votes.candidate(triplet)), str(decided[triplet])
                    experts = self.gold.votes.get(key)
                    if experts and experts.decide:
                        self.statuses[status] -= 1
                        self.statuses["labelled"] += 1
                    elif experts and status == "unresolved":
                        self.gold.unresolved.add(key)

    def counts(self) -> VoteCounts:
        units = np.concatenate([*self.units, np.zeros((3, 0), dtype=np.int64)], axis=1)
        pairs = np.concatenate([*self.pairs, np.zeros((3, 0), dtype=np.int64)], axis=1)
        kinds, column = np.unique(units[1], return_inverse=True)
        return VoteCounts(
            pairs=_table(pairs[0], pairs[1], pairs[2], (self.queries, 4)),
            units=_table(units[0], column, units[2], (self.queries, len(kinds))),
            kinds=[divmod(int(kind), MOST_VOTES) for kind in kinds],
        )


def read_judged(
    path: Path,
    policy: Policy,
    gold: Gold,
    sent_to_experts: Collection[TripletKey] = (),
    claims: ByTriplet | None = None,
) -> Judged:
    """Fills in which of the triplets that experts labelled are unresolved still."""
    judged = Judged(policy, gold, set(sent_to_experts), claims or {})
    for votes in read_votes(path, {}):
        judged.add(votes)
    judged.end()
    return judged


def _table(row: Ints, column: Ints, number: Ints, shape: tuple[int, int]) -> Ints:
    table = np.zeros(shape, dtype=np.int64)
    table[row, column] = number
    return table
