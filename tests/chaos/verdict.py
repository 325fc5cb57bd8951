"""What follows from the crowd's record by the protocol's pure rules alone.

work counts      its controls are right, the crowd has not rejected it, and its worker is not
                 excluded: who failed too often in the campaign's works in order of submission,
                 unless a person has taken the exclusion back
a triplet's      the answers of the work that counts on every HIT that holds the triplet, in
votes            order of submission
its label        `vote.decide` of them; a triplet that wants votes and has been submitted by
                 more than MOST_EXCLUDED workers who may still work is unresolved: no HIT can
                 keep all of them out
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from annotation.protocol.labels.majority import Label, decide
from annotation.protocol.packing.repack import MOST_EXCLUDED
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import ExclusionDecision, Review, exclusions
from tests.chaos.record import Record, Work

WorkerKey = TypeVar("WorkerKey", bound=Hashable)
TripletKey = TypeVar("TripletKey", bound=Hashable)


def valid_votes(
    judgments: Iterable[tuple[WorkerKey, TripletKey, int]], excluded: Collection[WorkerKey]
) -> dict[TripletKey, list[int]]:
    """Triplet -> its valid votes, in the order of `judgments` (worker, triplet, value).

    An excluded worker's judgments are all discarded, nobody else's are. Raises ValueError where
    a worker judged a triplet twice: then it is no longer two people who agree.
    """
    votes: defaultdict[TripletKey, list[int]] = defaultdict(list)
    seen: set[tuple[WorkerKey, TripletKey]] = set()
    for worker, triplet, value in judgments:
        if worker in excluded:
            continue
        if (worker, triplet) in seen:
            raise ValueError(f"worker {worker} judged triplet {triplet} twice")
        seen.add((worker, triplet))
        votes[triplet].append(value)
    return dict(votes)


@dataclass(frozen=True)
class Vote:
    position: int  # of its work among the campaign's, from 0
    worker: str
    value: int


@dataclass(frozen=True)
class Verdict:
    record: Record
    policy: Policy
    restored: Collection[str] = ()  # workers whom a person has taken back

    @cached_property
    def decisions(self) -> Sequence[ExclusionDecision]:
        reviews = [Review(work.worker, work.passed) for work in self.record.works]
        return exclusions(reviews, self.policy)

    @cached_property
    def excluded(self) -> set[str]:
        return {decision.worker for decision in self.decisions} - set(self.restored)

    @cached_property
    def triplets(self) -> list[int]:
        items = (item for of_hit in self.record.items.values() for item in of_hit.values())
        return sorted({item.triplet for item in items if item.triplet is not None})

    @cached_property
    def votes(self) -> Mapping[int, Sequence[int]]:
        """ValueError where a worker judged a triplet twice."""
        return valid_votes(self._judgments(), self.excluded)

    def label(self, triplet: int) -> Label:
        decision = decide(self.votes.get(triplet, ()), self.policy)
        if decision.wanted and len(self.submitted[triplet] - self.excluded) > MOST_EXCLUDED:
            return Label(None, "unresolved", 0)
        return decision

    @cached_property
    def submitted(self) -> Mapping[int, set[str]]:
        """Triplet -> everybody who has submitted it, whether it counts or not."""
        found: defaultdict[int, set[str]] = defaultdict(set)
        for work in self.record.works:
            for triplet in self.triplets_of(work.hit):
                found[triplet].add(work.worker)
        return found

    def counts(self, work: Work) -> bool:
        return _is_good(work) and work.worker not in self.excluded

    def account_of(self, work: Work) -> str:
        """Where the money of decided work belongs."""
        if work.status == "rejected":
            return "released"
        return "paid" if self.counts(work) else "discarded"

    def triplets_of(self, hit: str) -> list[int]:
        items = self.record.items[hit].values()
        return [item.triplet for item in items if item.triplet is not None]

    @cached_property
    def cast(self) -> Mapping[int, Sequence[Vote]]:
        """Triplet -> the votes of good work, those of workers excluded later too."""
        found: defaultdict[int, list[Vote]] = defaultdict(list)
        for position, work in enumerate(self.record.works):
            if _is_good(work):
                for key, item in self.record.items[work.hit].items():
                    if item.triplet is not None:
                        vote = Vote(position, work.worker, work.answers[key])
                        found[item.triplet].append(vote)
        return found

    def votes_after(self, works: int, triplet: int, excluded: Collection[str]) -> list[int]:
        """As they stood when so many works had been reviewed and these workers were out."""
        return [
            vote.value
            for vote in self.cast[triplet]
            if vote.position < works and vote.worker not in excluded
        ]

    def excluded_after(self, works: int) -> list[set[str]]:
        """When so many works had been reviewed: before and after somebody was taken back."""
        out = {decision.worker for decision in self.decisions if decision.position < works}
        return [out] if out.isdisjoint(self.restored) else [out, out - set(self.restored)]

    def _judgments(self) -> Iterator[tuple[str, int, int]]:
        for work in filter(_is_good, self.record.works):
            for key, item in self.record.items[work.hit].items():
                if item.triplet is not None:
                    yield work.worker, item.triplet, work.answers[key]


def _is_good(work: Work) -> bool:
    return work.passed and work.status != "rejected"
