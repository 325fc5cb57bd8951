"""A run's scores pair by pair: accuracy and F1 at a threshold, ROC-AUC. scikit-learn computes.

Of all judged pairs of the split, whichever way the queries of a ranking are counted. A pair that
the run leaves out was not retrieved: it lies below every score, and no threshold takes it in.

The threshold is chosen on dev, or is 0.5 where the scores can be probabilities. Chosen on the split
that it is applied to, it would flatter the system. scikit-learn takes seconds to
import and is loaded where it computes: every command of releases loads this module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exports.evaluation.scoring import Pairs
from retrieval.ranking.thresholds import By, best_threshold

PAIRWISE = ("Accuracy", "F1", "ROC-AUC")
EVEN = 0.5
IN_WORDS: Mapping[By, str] = {"f1": "F1", "accuracy": "accuracy", "precision": "precision"}


@dataclass(frozen=True)
class Threshold:
    value: float | None
    reason: str  # where it comes from, or why there is none


def threshold_on_dev(dev: Pairs, run: Path, by: By = "f1") -> Threshold:
    """The score where the measure is highest on dev; of several, the lowest."""
    labels = np.array(dev.labels, dtype=bool)
    if not labels.any():
        return Threshold(None, f"none, as no pair of {run} is positive")
    value = best_threshold(labels, np.asarray(dev.scores), by)
    return Threshold(value, f"the highest {IN_WORDS[by]} on {run.name}")


def threshold_of_probabilities(pairs: Pairs) -> Threshold:
    scores = np.asarray(pairs.scores)
    if np.nanmin(scores) >= 0 and np.nanmax(scores) <= 1:
        why = "all scores are from 0 to 1 and are taken as probabilities"
        return Threshold(EVEN, f"there is no run on dev to choose it on; {why}")
    return Threshold(None, "none, as scores are outside 0 to 1 and there is no run on dev")


def pairwise(pairs: Pairs, threshold: float | None) -> dict[str, float | None]:
    """By the names in PAIRWISE; None of what is undefined."""
    from sklearn import metrics  # noqa: PLC0415

    labels, scores = columns(pairs)
    figures: dict[str, float | None] = dict.fromkeys(PAIRWISE)
    if threshold is not None:
        taken = predicted_positive(pairs, threshold)
        figures["Accuracy"] = float(metrics.accuracy_score(labels, taken))
        figures["F1"] = _defined(metrics.f1_score(labels, taken, zero_division=math.nan))
    if 0 < labels.sum() < len(labels):
        figures["ROC-AUC"] = float(metrics.roc_auc_score(labels, scores))
    return figures


def predicted_positive(pairs: Pairs, threshold: float) -> NDArray[np.bool_]:
    scores = np.asarray(pairs.scores)
    taken: NDArray[np.bool_] = (scores >= threshold) & ~np.isnan(scores)
    return taken


def columns(pairs: Pairs) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Labels and scores; what the run leaves out has one score below all others."""
    scores = np.array(pairs.scores)
    lowest = np.nextafter(np.nanmin(scores), -np.inf)
    return np.array(pairs.labels, dtype=bool), np.where(np.isnan(scores), lowest, scores)


def _defined(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
