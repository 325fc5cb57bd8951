"""Agreement beyond chance. Apart from `agreement`, since scikit-learn takes seconds to import."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.metrics import cohen_kappa_score


def cohen_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa of (first vote, second vote) pairs; None where it is undefined.

    It is undefined without pairs, and where every vote is the same: chance alone would
    then agree on everything.
    """
    if len({vote for pair in pairs for vote in pair}) < 2:
        return None
    first, second = zip(*pairs, strict=True)
    return float(cohen_kappa_score(first, second))
