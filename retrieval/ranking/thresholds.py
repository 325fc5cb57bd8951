"""From which score on a pair counts as positive: where a measure is highest. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

By = Literal["f1", "accuracy", "precision"]
Numbers = NDArray[np.float64]
# Of true and false positives at each threshold, and of all positives and negatives.
BY: Mapping[By, Callable[[Numbers, Numbers, int, int], Numbers]] = {
    "f1": lambda tps, fps, positives, _: 2 * tps / (tps + fps + positives),
    "accuracy": lambda tps, fps, positives, negatives: (
        (tps + negatives - fps) / (positives + negatives)
    ),
    "precision": lambda tps, fps, *_: tps / (tps + fps),
}


def best_threshold(labels: NDArray[np.bool_], scores: Numbers, by: By = "f1") -> float:
    """One of the scores; of equally good ones the lowest. A score of NaN is below them all."""
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(~np.isnan(scores))]
    falling = scores[order]
    ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    tps = np.cumsum(labels[order], dtype=np.float64)[ends]
    positives = int(labels.sum())
    worth = BY[by](tps, ends + 1 - tps, positives, len(labels) - positives)
    return float(falling[ends[np.flatnonzero(worth == worth.max())[-1]]])
