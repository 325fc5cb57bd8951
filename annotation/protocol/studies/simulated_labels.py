"""What is so, drawn for a dry run in which nobody knows it: as often positive as in the paper.

Three of its figures fix the draw (QUADRo, section 5.1 and table 2): 42.6 % of the first candidates
are positive, 75.4 % of the queries have a positive among 30, and a query has 5.8 of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import exp

FIRST_RANK = 0.426
ANSWERABLE = 0.754
DECAY = 0.065  # a rank; over 30 ranks it leaves 5.8 positives


def chance_of_a_positive(rank: int) -> float:
    """Over all queries, those without any positive included."""
    return FIRST_RANK * exp(-DECAY * (rank - 1))


def draw_labels(key: str, ranks: Sequence[int], *, seed: int) -> list[int]:
    """1 or 0 for each rank of the query of this key; the same for the same seed."""
    draw = random.Random(f"{seed}/{key}")  # noqa: S311
    if draw.random() >= ANSWERABLE:
        return [0] * len(ranks)
    return [int(draw.random() < chance_of_a_positive(rank) / ANSWERABLE) for rank in ranks]
