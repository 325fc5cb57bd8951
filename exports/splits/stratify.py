"""Whole clusters for dev and test: of the sizes wanted, and as answerable as all that could go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp


@dataclass(frozen=True)
class Group:
    """Queries that go to one split together."""

    ids: tuple[str, ...]
    answerable: int

    @property
    def kind(self) -> tuple[int, int]:
        return len(self.ids), self.answerable


@dataclass(frozen=True)
class Room:
    """Of a split: what is in it, and how many more it wants."""

    size: int
    answerable: int
    room: int


def draw(groups: Sequence[Group], rooms: Mapping[str, Room]) -> dict[str, list[Group]]:
    """Split -> its groups, the first of `groups` that fit.

    Where those do not meet sizes and shares, the nearest that any groups make: first the sizes,
    then the shares of answerable queries, summed over the splits.
    """
    if not groups or not any(room.room for room in rooms.values()):
        return {}
    kinds = [group.kind for group in groups]
    pool = sum(size for size, _ in kinds) + sum(room.size for room in rooms.values())
    answerable = sum(yes for _, yes in kinds) + sum(room.answerable for room in rooms.values())
    share = Fraction(answerable, pool)
    return _first_that_fit(groups, rooms, share) or _nearest(groups, rooms, share, scale=pool)


def _first_that_fit(
    groups: Sequence[Group], rooms: Mapping[str, Room], share: Fraction
) -> dict[str, list[Group]] | None:
    """None where room is left in the end."""
    left = {split: _strata(room, share) for split, room in rooms.items()}
    chosen: dict[str, list[Group]] = {split: [] for split in rooms}
    for group in groups:
        size, yes = group.kind
        for split, (room_yes, room_no) in left.items():
            if yes <= room_yes and size - yes <= room_no:
                left[split] = room_yes - yes, room_no - (size - yes)
                chosen[split].append(group)
                break
    return None if any(map(any, left.values())) else chosen


def _strata(room: Room, share: Fraction) -> tuple[int, int]:
    """How many answerable queries, and how many others, bring the whole split to the share."""
    wanted = int(share * (room.size + room.room) + Fraction(1, 2)) - room.answerable
    answerable = min(max(wanted, 0), room.room)
    return answerable, room.room - answerable


def _nearest(
    groups: Sequence[Group], rooms: Mapping[str, Room], share: Fraction, *, scale: int
) -> dict[str, list[Group]]:
    """How many groups of each kind go to each split, as an integer programme."""
    kinds: defaultdict[tuple[int, int], list[Group]] = defaultdict(list)
    for group in groups:
        kinds[group.kind].append(group)
    counts = _solve(
        kinds=np.array(list(kinds), dtype=float),
        there=np.array([len(members) for members in kinds.values()], dtype=float),
        rooms=list(rooms.values()),
        share=float(share),
        scale=scale,
    )
    chosen: dict[str, list[Group]] = {split: [] for split in rooms}
    for kind, members in enumerate(kinds.values()):
        start = 0
        for split, number in zip(rooms, counts[:, kind], strict=True):
            chosen[split] += members[start : start + number]
            start += number
    return chosen


def _solve(
    *,
    kinds: NDArray[np.float64],  # kinds x (size, answerable)
    there: NDArray[np.float64],
    rooms: Sequence[Room],
    share: float,
    scale: int,
) -> NDArray[np.int64]:  # splits x kinds
    """Of the columns, the last are what each split has too much and too little, of each rule."""
    splits, number = len(rooms), len(kinds)
    each = np.eye(splits)
    slack, none = np.kron(each, [-1, 1]), np.zeros((splits, 2 * splits))
    skew = kinds[:, 1] - share * kinds[:, 0]
    rows = np.block(
        [
            [np.tile(np.eye(number), splits), np.zeros((number, 4 * splits))],
            [np.kron(each, kinds[:, 0]), slack, none],
            [np.kron(each, skew), none, slack],
        ]
    )
    sizes = [room.room for room in rooms]
    balance = [share * room.size - room.answerable for room in rooms]
    chosen = number * splits
    # A query too many or too few outweighs any imbalance.
    cost = np.repeat([0, scale + 1, 1], [chosen, 2 * splits, 2 * splits])
    solution = milp(
        cost,
        integrality=np.repeat([1, 0], [chosen, 4 * splits]),
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(
            rows,
            np.concatenate([np.zeros(number), sizes, balance]),
            np.concatenate([there, sizes, balance]),
        ),
        options={"mip_rel_gap": 0},
    )
    counts: NDArray[np.int64] = np.rint(solution.x[:chosen]).astype(np.int64)
    return counts.reshape(splits, number)
