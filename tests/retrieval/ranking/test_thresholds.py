"""Thresholds, against the measures of scikit-learn at every score."""

import numpy as np
import pytest
from sklearn import metrics

from retrieval.ranking.thresholds import BY, By, best_threshold

MEASURES = {
    "f1": metrics.f1_score,
    "accuracy": metrics.accuracy_score,
    "precision": metrics.precision_score,
}


@pytest.mark.parametrize(("by", "expected"), [("f1", 0.7), ("accuracy", 0.7), ("precision", 0.9)])
def test_a_threshold_is_the_best_by_what_is_wanted(by: By, expected: float) -> None:
    labels = np.array([True, False, True, False, False])
    assert best_threshold(labels, np.array([0.9, 0.8, 0.7, 0.2, 0.1]), by) == expected


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_lowest_score_with_the_highest_measure(by: By, seed: int) -> None:
    """Scores tie, and some pairs have none: these are never taken in."""
    draw = np.random.default_rng(seed)
    labels, scores = draw.random(30) < 0.4, draw.integers(0, 12, 30) / 12
    scores[draw.random(30) < 0.2] = np.nan
    worth = {
        score: round(MEASURES[by](labels, np.nan_to_num(scores, nan=-1) >= score), 12)
        for score in scores[~np.isnan(scores)].tolist()
    }
    highest = max(worth.values())
    assert best_threshold(labels, scores, by) == min(one for one in worth if worth[one] == highest)
