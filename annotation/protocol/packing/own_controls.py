"""HITs with controls of the campaign's own, which look like its other items.

Their queries are queries of the campaign and take turns, so that a control's query comes back as
often as any other. No query meets itself in a HIT as long as others are left, and a control comes
back only after all others. Nothing here depends on the order of the inputs or on Python's hash
seed.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import le

from annotation.protocol.packing.pack import (
    HitSpec,
    ItemKind,
    ItemSpec,
    PackingError,
    TripletRef,
    hits_needed,
    presentation,
    refuse_twice,
    seeded,
    spread,
)
from annotation.protocol.policy.policy import Policy

MOST_USES = 5  # HITs of the first round that show one control
MOST_MEETINGS = 2  # of one worker with one control
MOST_WORKERS = 50  # that have met a control before it counts as known


@dataclass(frozen=True, slots=True)
class OwnControl:
    key: str
    query: str  # the key of the campaign's query


@dataclass(frozen=True, slots=True)
class Exposure:
    """Who has met a control, in the HITs that they took."""

    workers: int = 0
    most: int = 0  # meetings of one worker with it
    revealed: int = 0  # of the workers, those who were told its answer

    @property
    def is_worn(self) -> bool:
        return self.most >= MOST_MEETINGS or self.workers >= MOST_WORKERS or self.revealed > 0


def exposures_of(meetings: Iterable[tuple[int, int, bool]]) -> dict[int, Exposure]:
    """By control; given is each control with how often one worker has met it, and whether they
    were told its answer.
    """
    met: dict[int, Exposure] = {}
    for control, times, is_revealed in meetings:
        before = met.get(control, Exposure())
        met[control] = Exposure(
            before.workers + 1, max(before.most, times), before.revealed + int(is_revealed)
        )
    return met


def own_needed(triplets: int, policy: Policy, *, uses: int = MOST_USES) -> tuple[int, int]:
    """The fewest positives and negatives that show none in more HITs than `uses`."""
    hits = hits_needed(triplets, policy)
    filling = hits * policy.real_items - triplets
    kinds = (policy.positive_controls, filling // 2), (policy.negative_controls, -(-filling // 2))
    positives, negatives = (_least(hits, *kind, uses) for kind in kinds)
    return positives, negatives


def _least(hits: int, in_hit: int, filling: int, uses: int) -> int:
    """`filling`: further places of the last HIT, which no control may have twice."""
    return max(-(-(hits * in_hit + filling) // uses), in_hit + filling) if hits * in_hit else 0


def uses_of_one(triplets: int, policy: Policy, positives: int, negatives: int) -> int:
    """The most HITs that show one control, of so many that take turns."""
    enough = (
        uses
        for uses in range(1, MOST_USES)
        if all(map(le, own_needed(triplets, policy, uses=uses), (positives, negatives)))
    )
    return next(enough, MOST_USES)


def pack_own(
    triplets: Sequence[TripletRef],
    *,
    positives: Sequence[OwnControl],
    negatives: Sequence[OwnControl],
    policy: Policy,
    seed: int,
) -> list[HitSpec]:
    """Every triplet in exactly one HIT, of the same triplets as `pack` puts together."""
    refuse_twice("triplets", [triplet.key for triplet in triplets])
    check_own(len(triplets), len(positives), len(negatives), policy=policy)
    rng = seeded(seed)
    hits = spread(triplets, policy.real_items, rng)
    turns = Turns(in_turns(positives, rng)), Turns(in_turns(negatives, rng))
    return [own_hit(hit, *turns, policy=policy, seed=rng.getrandbits(48)) for hit in hits]


def check_own(triplets: int, positives: int, negatives: int, *, policy: Policy) -> None:
    needed = own_needed(triplets, policy)
    if positives < needed[0] or negatives < needed[1]:
        raise PackingError(
            f"The campaign has {positives} positive and {negatives} negative controls of its own, "
            f"but {hits_needed(triplets, policy)} HITs need at least {needed[0]} and {needed[1]}: "
            "confirm more drafts, or retire those it has and use the pool."
        )


def own_hit(
    real: Sequence[TripletRef], positives: Turns, negatives: Turns, *, policy: Policy, seed: int
) -> HitSpec:
    filling = policy.real_items - len(real)
    shown = {triplet.query for triplet in real}
    items = [
        *(ItemSpec("real", triplet.key) for triplet in real),
        *positives.take("positive", policy.positive_controls + filling // 2, shown),
        *negatives.take("negative", policy.negative_controls + filling - filling // 2, shown),
    ]
    return HitSpec(seed, presentation(items, seed=seed))


class Turns:
    """Controls in the order in which they serve next; one that served goes to the end."""

    def __init__(self, controls: Iterable[OwnControl]) -> None:
        self._waiting = deque(controls)
        self._served: list[OwnControl] = []

    def take(self, kind: ItemKind, count: int, shown: set[str]) -> list[ItemSpec]:
        """Of queries that the HIT does not show yet, if any is left; they are shown then.

        Fewer where there are fewer in all: no HIT has one twice.
        """
        count = min(count, len(self._waiting) + len(self._served))
        taken = [self._next(shown) for _ in range(count)]
        return [ItemSpec(kind, control.key) for control in taken]

    def _next(self, shown: set[str]) -> OwnControl:
        if not self._waiting:
            self._waiting, self._served = deque(self._served), []
        fits = (n for n, one in enumerate(self._waiting) if one.query not in shown)
        place = next(fits, 0)
        control = self._waiting[place]
        del self._waiting[place]
        self._served.append(control)
        shown.add(control.query)
        return control


def in_turns(controls: Iterable[OwnControl], rng: random.Random) -> list[OwnControl]:
    """One of each query, then a second one of each, and so on; ties fall at random."""
    order = sorted(controls, key=lambda control: control.key)
    refuse_twice("controls", [control.key for control in order])
    rng.shuffle(order)
    before: Counter[str] = Counter()
    rounds = []
    for control in order:
        rounds.append((before[control.query], rng.random(), control))
        before[control.query] += 1
    return [control for *_, control in sorted(rounds, key=lambda one: one[:2])]
