"""How far the first two annotators of each triplet agree."""

from __future__ import annotations

from collections.abc import Sequence


def observed_agreement(pairs: Sequence[tuple[int, int]]) -> float | None:
    """The share of (first vote, second vote) pairs that are equal; None without pairs."""
    if not pairs:
        return None
    return sum(first == second for first, second in pairs) / len(pairs)
