"""How much it matters that a triplet's judges disagree: what an expert should look at first.

The measure is a product of three, each of which can be said in a sentence:

1. Doubt: how likely the next annotator is to say the opposite of the label. From the votes alone,
   all shares being equally likely beforehand, that is (minority + 1) / (votes + 2); twice that,
   so that a tie has 1.
2. Place: 1 / log2(rank + 1), the discount that ranking metrics give to lower ranks.
3. Decisive: twice as much where no other candidate of the query is labelled positive. Then this
   one decides whether the query has a positive at all: without one it counts 0 in P@1, MAP and
   MRR, and is left out where metrics are taken the clean way.
"""

from __future__ import annotations

from math import log2

DECISIVE = 2.0


def disagreement_weight(*, votes: int, positive: int, rank: int, decisive: bool) -> float:
    """Between 0 and 2; 0 where nobody disagrees. Raises ValueError at counts that cannot be."""
    if not (0 <= positive <= votes and rank >= 1):
        raise ValueError(f"no triplet of rank {rank} has {positive} of {votes} votes")
    minority = min(positive, votes - positive)
    if not minority:
        return 0.0
    doubt = 2 * (minority + 1) / (votes + 2)
    return doubt / log2(rank + 1) * (DECISIVE if decisive else 1.0)
