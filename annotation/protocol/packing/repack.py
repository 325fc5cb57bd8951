"""Triplets that lack a vote, into HITs of one place that none of their earlier workers may take.

The crowd's requirement names at most MOST_EXCLUDED workers, so a group's triplets must have few
earlier workers between them. Nothing here depends on the order of the inputs or on Python's hash
seed.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from annotation.protocol.packing.pack import HitSpec, PackingError, TripletRef, pack, refuse_twice
from annotation.protocol.policy.policy import Policy

# Values that one requirement of the crowd can hold.
MOST_EXCLUDED = 10
# Among the triplets of how many queries companions are searched, how many of each, and after how
# many looks at one the search ends: nearly all are found by the first search. Pools of thousands
# need an end, small ones do not come near it.
MOST_CANDIDATES = 400
SEARCHES = (20, 3, 400), (MOST_CANDIDATES, MOST_CANDIDATES, 4_000)


@dataclass(frozen=True)
class OpenTriplet:
    """A triplet to be judged once more."""

    key: str
    query: str
    earlier: frozenset[int]  # who has had it before and may still work


@dataclass(frozen=True)
class Group:
    """The real triplets of one HIT, in the order of their keys."""

    triplets: tuple[OpenTriplet, ...]

    @property
    def excluded_workers(self) -> tuple[int, ...]:
        """The workers who may not take the HIT."""
        return tuple(sorted({worker for triplet in self.triplets for worker in triplet.earlier}))


@dataclass(frozen=True)
class Regrouped:
    """Each part in a fixed order; every triplet is in exactly one of them."""

    groups: tuple[Group, ...]
    waiting: tuple[OpenTriplet, ...]  # for companions; none when flushed
    impossible: tuple[OpenTriplet, ...]  # more earlier workers than any HIT can bar


def regroup(triplets: Iterable[OpenTriplet], policy: Policy, *, flush: bool) -> Regrouped:
    """Full groups of different queries, and with `flush` groups of all the rest.

    No full group is left among those that wait, hence there are at least 1/real_items of the
    full groups that any arrangement has; as many as any has where no triplet has more than
    MOST_EXCLUDED // real_items earlier workers, as after a first round of two. (In a pool so large
    that the second search ends early, a full group may be left for later.)

    With `flush`, a HIT takes a query's second triplet before another HIT is begun. Raises
    PackingError where a triplet is given twice.
    """
    given = sorted(triplets, key=lambda triplet: triplet.key)
    refuse_twice("triplets", [triplet.key for triplet in given])
    impossible = [triplet for triplet in given if len(triplet.earlier) > MOST_EXCLUDED]
    pool = _Pool(triplet for triplet in given if len(triplet.earlier) <= MOST_EXCLUDED)
    full = list(_full_groups(pool, policy.real_items))
    rest = sorted(pool.set_aside, key=lambda one: one.triplet.key)
    groups = [*full, *(_last_groups(rest, policy.real_items) if flush else ())]
    waiting = [] if flush else [one.triplet for one in rest]
    return Regrouped(tuple(map(_group, groups)), tuple(waiting), tuple(impossible))


def pack_group(
    group: Group,
    *,
    positives: Sequence[str],
    negatives: Sequence[str],
    policy: Policy,
    seed: int,
) -> HitSpec:
    """The group's HIT with controls of its own, as `pack` makes a campaign's last HIT.

    `seed` chooses among the positives; `packing.negatives_needed` says how many negatives.
    """
    if len(group.triplets) not in range(1, policy.real_items + 1):
        raise PackingError(
            f"A HIT takes 1 to {policy.real_items} triplets, not {len(group.triplets)}."
        )
    refs = [TripletRef(triplet.key, triplet.query, rank=0) for triplet in group.triplets]
    (hit,) = pack(refs, positives=positives, negatives=negatives, policy=policy, seed=seed)
    return hit


@dataclass(frozen=True)
class _Candidate:
    triplet: OpenTriplet
    query: str
    workers: int  # the earlier ones, a bit for each


class _Pool:
    """What may still come into a full group, by query; and what was found to be in none."""

    def __init__(self, triplets: Iterable[OpenTriplet]) -> None:
        self.set_aside: list[_Candidate] = []
        self.by_query: defaultdict[str, list[_Candidate]] = defaultdict(list)
        bits: defaultdict[int, int] = defaultdict(itertools.count().__next__)
        for triplet in triplets:
            workers = sum(1 << bits[worker] for worker in sorted(triplet.earlier))
            self.by_query[triplet.query].append(_Candidate(triplet, triplet.query, workers))
        self._heap = [(-len(stack), query) for query, stack in self.by_query.items()]
        heapq.heapify(self._heap)

    def left(self, query: str) -> int:
        return len(self.by_query[query])

    def candidates(self, *, queries: int, each: int) -> list[_Candidate]:
        """The first of the queries with the most left, from the fullest query on."""
        names = list(itertools.islice(self._fullest(), queries))
        for name in names:
            heapq.heappush(self._heap, (-self.left(name), name))
        return [one for name in names for one in self.by_query[name][:each]][:MOST_CANDIDATES]

    def take(self, chosen: Iterable[_Candidate]) -> None:
        for one in chosen:
            self.by_query[one.query].remove(one)
            heapq.heappush(self._heap, (-self.left(one.query), one.query))

    def _fullest(self) -> Iterator[str]:
        """The queries by what is left of them, off the heap; what was pushed before is stale."""
        seen: set[str] = set()
        while self._heap:
            count, name = heapq.heappop(self._heap)
            if count and -count == self.left(name) and name not in seen:
                seen.add(name)
                yield name


def _full_groups(pool: _Pool, size: int) -> Iterator[list[_Candidate]]:
    """Each begins with the query that has most left, which otherwise must wait the longest."""
    while start := pool.candidates(queries=1, each=1):
        group = _companions(pool, start, size)
        pool.take(group or start)
        if group:
            yield group
        else:  # in no full group now, hence in none later: the pool only shrinks
            pool.set_aside += start


def _companions(pool: _Pool, start: list[_Candidate], size: int) -> list[_Candidate] | None:
    """A full group with `start`: mostly found close by, else all that is left is looked at."""
    for queries, each, looks in SEARCHES:
        candidates = pool.candidates(queries=queries, each=each)
        if group := _Search(pool, size, looks).complete(start, candidates):
            return group
    return None


class _Search:
    """For companions with whom a group is full, the most promising first.

    Those come first who add no more workers than a place's fair share, of the fullest queries.
    """

    def __init__(self, pool: _Pool, size: int, looks: int) -> None:
        self._pool = pool
        self._size = size
        self._looks = looks

    def complete(
        self, group: list[_Candidate], candidates: Sequence[_Candidate]
    ) -> list[_Candidate] | None:
        free = self._size - len(group)
        if not free:
            return group
        workers = _union(group)
        fitting = self._fitting(group, workers, candidates)
        if len({one.query for one in fitting}) < free:
            return None
        share = MOST_EXCLUDED // self._size

        def promise(one: _Candidate) -> tuple[int, int, str]:
            growth = (workers | one.workers).bit_count() - workers.bit_count()
            return max(0, growth - share), -self._pool.left(one.query), one.triplet.key

        fitting.sort(key=promise)
        for number, one in enumerate(fitting, start=1):
            if completed := self.complete([*group, one], fitting[number:]):
                return completed
        return None

    def _fitting(
        self, group: Sequence[_Candidate], workers: int, candidates: Sequence[_Candidate]
    ) -> list[_Candidate]:
        looked_at = candidates[: self._looks]
        self._looks -= len(looked_at)
        met = {one.query for one in group}
        return [
            one
            for one in looked_at
            if one.query not in met and (workers | one.workers).bit_count() <= MOST_EXCLUDED
        ]


def _last_groups(rest: Sequence[_Candidate], size: int) -> Iterator[list[_Candidate]]:
    """All of the rest: whatever fits into a group comes in before another group begins."""
    left = list(rest)
    while left:
        group = [left.pop(0)]
        while len(group) < size and (companion := _companion(group, left)):
            left.remove(companion)
            group.append(companion)
        yield group


def _companion(group: Sequence[_Candidate], left: Sequence[_Candidate]) -> _Candidate | None:
    """Of another query wherever possible, then the one that adds the fewest workers."""
    workers = _union(group)
    queries = [one.query for one in group]
    ranked = [
        (queries.count(one.query), excluded, number)
        for number, one in enumerate(left)
        if (excluded := (workers | one.workers).bit_count()) <= MOST_EXCLUDED
    ]
    return left[min(ranked)[-1]] if ranked else None


def _union(group: Iterable[_Candidate]) -> int:
    workers = 0
    for one in group:
        workers |= one.workers
    return workers


def _group(chosen: Iterable[_Candidate]) -> Group:
    triplets = (one.triplet for one in chosen)
    return Group(tuple(sorted(triplets, key=lambda triplet: triplet.key)))
