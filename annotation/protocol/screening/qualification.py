"""The qualification test: which items it has, and who passes. The paper trains its annotators by
explained examples (appendix C, table 7); here they try them.
"""

import hashlib
import random
from collections.abc import Sequence

TRIES = 3


class TooFewItems(ValueError):
    """A round cannot be drawn; one sentence that says what is missing."""


def draw(expected: Sequence[int], count: int, *, seed: int) -> list[int]:
    """The indices of `count` items in a random order, as many 0 as 1; an odd one goes to either."""
    rng = random.Random(int.from_bytes(hashlib.sha256(f"practice:{seed}".encode()).digest()))  # noqa: S311
    sides = [[index for index, value in enumerate(expected) if value == side] for side in (0, 1)]
    few = count // 2
    odd = [side for side in (0, 1) if count % 2 and len(sides[side]) > few]
    wanted = [few, few]
    if odd:
        wanted[rng.choice(odd)] += 1
    if sum(wanted) < count or any(len(sides[side]) < wanted[side] for side in (0, 1)):
        raise TooFewItems(
            f"{count} qualification items want {few} whose answer is 0 and {few} whose answer is 1"
            f"{', and one more of either' if count % 2 else ''}: there are {len(sides[0])} with 0 "
            f"and {len(sides[1])} with 1"
        )
    drawn = [index for side in (0, 1) for index in rng.sample(sides[side], wanted[side])]
    rng.shuffle(drawn)
    return drawn


def draw_rounds(expected: Sequence[int], count: int, *, seed: int) -> list[int]:
    """Of a round for each try as far as the items go, one round after the other: nobody is asked
    again what has just been explained."""
    left, drawn = list(range(len(expected))), list[int]()
    while len(drawn) < TRIES * count:
        try:
            one = draw([expected[index] for index in left], count, seed=seed)
        except TooFewItems:
            if drawn:
                break
            raise
        drawn += [left[index] for index in one]
        left = [index for index in left if index not in drawn]
    return drawn


def positions_of_try(tries_before: int, items: int, count: int) -> range:
    """Of `items` in rounds of `count`, which come back where there are fewer rounds than tries."""
    first = tries_before % max(1, items // count) * count
    return range(first, first + count)


def percent_right(correct: int, items: int) -> int:
    """Rounded down: 99 means that something is missing. Of no items, all are right."""
    return correct * 100 // items if items else 100


def least_right(items: int, percent: int) -> int:
    """So many right answers pass."""
    return -(-items * percent // 100)
