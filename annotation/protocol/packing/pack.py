"""Triplets into HITs: five real ones of five queries, one positive and one negative control.

Nothing here depends on the order of the inputs or on Python's hash seed.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from annotation.protocol.policy.policy import Policy

ItemKind = Literal["real", "positive", "negative"]

TRIES_PER_NEGATIVE = 100


class PackingError(ValueError):
    """The campaign cannot be packed from what was given."""


@dataclass(frozen=True, slots=True)
class TripletRef:
    key: str
    query: str
    rank: int


@dataclass(frozen=True, slots=True)
class ItemSpec:
    kind: ItemKind
    key: str


@dataclass(frozen=True, slots=True)
class HitSpec:
    """A HIT's items in the order shown, which `seed` alone decides: see `presentation`."""

    seed: int
    items: tuple[ItemSpec, ...]


def hits_needed(triplets: int, policy: Policy) -> int:
    return -(-triplets // policy.real_items)


def negatives_needed(triplets: int, policy: Policy) -> int:
    """Negative controls the campaign uses up: each serves once."""
    # A filled-up HIT takes its odd control from the negatives, which cost nothing to make.
    filling = _empty_slots(triplets, policy)
    return hits_needed(triplets, policy) * policy.negative_controls + filling - filling // 2


def positives_needed(triplets: int, policy: Policy) -> int:
    """The smallest pool of positive controls that serves the campaign."""
    in_fullest_hit = policy.positive_controls + _empty_slots(triplets, policy) // 2
    hits = hits_needed(triplets, policy)
    return max(min(hits, policy.control_pool_size), in_fullest_hit) if hits else 0


def pack(
    triplets: Sequence[TripletRef],
    *,
    positives: Sequence[str],
    negatives: Sequence[str],
    policy: Policy,
    seed: int,
) -> list[HitSpec]:
    """Every triplet in exactly one HIT; the last HIT's empty places get more controls.

    Positives take turns, so that none serves twice more than another; a negative serves once.
    """
    _check_supply(triplets, positives, negatives, policy)
    rng = seeded(seed)
    hits = spread(triplets, policy.real_items, rng)
    positive_turns = itertools.cycle(_shuffled(positives, rng))
    negative_turns = iter(_shuffled(negatives, rng))
    packed = []
    for real in hits:
        filling = policy.real_items - len(real)
        items = [
            *(ItemSpec("real", triplet.key) for triplet in real),
            *_take("positive", positive_turns, policy.positive_controls + filling // 2),
            *_take("negative", negative_turns, policy.negative_controls + filling - filling // 2),
        ]
        hit_seed = rng.getrandbits(48)
        packed.append(HitSpec(hit_seed, presentation(items, seed=hit_seed)))
    return packed


def presentation(items: Iterable[ItemSpec], *, seed: int) -> tuple[ItemSpec, ...]:
    """The order in which a HIT with this seed shows these items, in whatever order given."""
    order = sorted(items, key=lambda item: (item.kind, item.key))
    seeded(seed).shuffle(order)
    return tuple(order)


def draw_negatives(
    questions: Sequence[str],
    *,
    count: int,
    seed: int,
    too_near: Callable[[str, str], bool],
) -> list[tuple[str, str]]:
    """`count` different random pairs (query's key, question's key) of questions not near."""
    rng = seeded(seed)
    keys = sorted(set(questions))
    tried: set[tuple[str, str]] = set()
    drawn: list[tuple[str, str]] = []
    tries = count * TRIES_PER_NEGATIVE if len(keys) > 1 else 0
    while len(drawn) < count and tries > 0:
        tries -= 1
        query, question = rng.sample(keys, 2)
        if (query, question) in tried:
            continue
        tried.add((query, question))
        if not too_near(query, question):
            drawn.append((query, question))
    if len(drawn) < count:
        raise PackingError(
            f"Only {len(drawn)} of {count} negative controls were found among {len(keys)} "
            "questions: add more varied pairs by `quorum corpus import` and run `quorum index "
            "build`, or create a campaign with a higher negative_max_cosine in its policy."
        )
    return drawn


def spread(
    triplets: Sequence[TripletRef], real_items: int, rng: random.Random
) -> list[list[TripletRef]]:
    """Real triplets of each HIT, of different queries wherever any arrangement allows it.

    Each HIT takes from the queries with the most triplets left. Ties fall at random, so that
    the same queries do not meet again and again, which would give the controls away.
    """
    hits = -(-len(triplets) // real_items)
    stacks = _stacks(triplets, hits, rng)
    heap = [(-len(stack), rng.random(), number) for number, stack in enumerate(stacks)]
    heapq.heapify(heap)
    groups = []
    for left in range(len(triplets), 0, -real_items):
        room = min(real_items, left)
        turn = [heapq.heappop(heap)[2] for _ in range(min(room, len(heap)))]
        hit = [stacks[number].pop() for number in turn]
        while len(hit) < room:
            hit.append(_second_helping([stacks[number] for number in turn]))
        for number in turn:
            if stacks[number]:
                heapq.heappush(heap, (-len(stacks[number]), rng.random(), number))
        groups.append(hit)
    return groups


def _second_helping(stacks: Sequence[list[TripletRef]]) -> TripletRef:
    """One more triplet from stacks that have all served this HIT: of the query with most left."""
    left = Counter(triplet.query for stack in stacks for triplet in stack)
    tallest = max(filter(None, stacks), key=lambda stack: (left[stack[-1].query], len(stack)))
    return tallest.pop()


def _stacks(
    triplets: Sequence[TripletRef], hits: int, rng: random.Random
) -> list[list[TripletRef]]:
    """Each query's triplets, ranks mixed, in stacks none of which is taller than the HITs.

    A query with more triplets than HITs must meet itself; stacks share that out over all HITs.
    """
    stacks = []
    order = sorted(triplets, key=lambda triplet: (triplet.query, triplet.rank, triplet.key))
    for _, group in itertools.groupby(order, key=lambda triplet: triplet.query):
        own = list(group)
        rng.shuffle(own)
        stacks += [own[start : start + hits] for start in range(0, len(own), hits)]
    return stacks


def _check_supply(
    triplets: Sequence[TripletRef],
    positives: Sequence[str],
    negatives: Sequence[str],
    policy: Policy,
) -> None:
    refuse_twice("triplets", [triplet.key for triplet in triplets])
    refuse_twice("positive controls", positives)
    refuse_twice("negative controls", negatives)
    hits = hits_needed(len(triplets), policy)
    needed = positives_needed(len(triplets), policy)
    if len(positives) < needed:
        raise PackingError(
            f"The pool holds {len(positives)} positive controls, but {hits} HITs need at least "
            f"{needed}: draft controls from the campaign's own queries (`quorum controls draft`), "
            "or import more (`quorum controls import`)."
        )
    needed = negatives_needed(len(triplets), policy)
    if len(negatives) < needed:
        raise PackingError(
            f"There are {len(negatives)} negative controls, but {hits} HITs need {needed}: "
            "draw more."
        )


def refuse_twice(what: str, keys: Sequence[str]) -> None:
    twice = sorted({one for one, other in itertools.pairwise(sorted(keys)) if one == other})
    if twice:
        raise PackingError(f"Some {what} are given twice, give each once: {', '.join(twice)}.")


def _empty_slots(triplets: int, policy: Policy) -> int:
    return -triplets % policy.real_items


def _take(kind: ItemKind, turns: Iterator[str], count: int) -> list[ItemSpec]:
    return [ItemSpec(kind, key) for key in itertools.islice(turns, count)]


def _shuffled(keys: Sequence[str], rng: random.Random) -> list[str]:
    order = sorted(keys)
    rng.shuffle(order)
    return order


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 reproducible on purpose, guards no secret
