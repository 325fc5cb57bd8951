"""How sure accuracy, F1 and ROC-AUC are. Whole queries are drawn: the pairs of one hang together.

The same queries are drawn for every system, so that two systems are compared on the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exports.evaluation.pair_metrics import PAIRWISE, columns, predicted_positive
from exports.evaluation.scoring import Pairs
from retrieval.ranking.bootstrap import LEVEL, REPLICATES, SEED, Values, roc_auc

AT_ONCE = 50  # replicates: of 20,000 pairs, 8 MB


def replicates(runs: Sequence[Pairs], thresholds: Sequence[float | None]) -> Values:
    """A row a replicate, a column a name in PAIRWISE: the mean over the runs.

    NaN where it is undefined: of a draw without positives, or where a run has no threshold.
    """
    queries = len(runs[0].sizes)
    random = np.random.RandomState(SEED)
    drawn = np.empty((REPLICATES, len(PAIRWISE)))
    for begin in range(0, REPLICATES, AT_ONCE):
        draws = random.randint(0, queries, (min(AT_ONCE, REPLICATES - begin), queries))
        times = np.array([np.bincount(draw, minlength=queries) for draw in draws], dtype=float)
        drawn[begin : begin + len(draws)] = np.mean(
            [_figures(run, at, times) for run, at in zip(runs, thresholds, strict=True)], axis=0
        )
    return drawn


def difference(
    ours: Sequence[float | None], theirs: Sequence[float | None], drawn: Values
) -> dict[str, float | None] | None:
    """Of the means over the runs of two systems; None where a figure is undefined. `drawn`: it on
    the same draws for both.

    p: two-sided, by the paired bootstrap; were both alike, as many draws would favour either.
    """
    if None in ours or None in theirs:
        return None
    value = np.mean(np.array(ours, float)) - np.mean(np.array(theirs, float))
    return {"value": float(value), **ends(drawn), "p": p_value(drawn)}


def ends(drawn: Values) -> dict[str, float | None]:
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return {"low": None, "high": None}
    low, high = np.quantile(known, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return {"low": float(low), "high": float(high)}


def p_value(differences: Values) -> float | None:
    known = differences[~np.isnan(differences)]
    if not len(known):
        return None
    rarer = min((known <= 0).sum(), (known >= 0).sum())
    return float(min(1, 2 * (1 + rarer) / (1 + len(known))))


def _figures(pairs: Pairs, threshold: float | None, times: Values) -> Values:
    """`times`: a row a replicate, how often each query was drawn."""
    figures = np.full((len(times), len(PAIRWISE)), np.nan)
    labels, scores = columns(pairs)
    query = np.repeat(np.arange(len(pairs.sizes)), pairs.sizes)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: undefined
        if threshold is not None:
            taken = predicted_positive(pairs, threshold)
            right, hit, either = (
                times @ np.bincount(query, weights, len(pairs.sizes))
                for weights in (labels == taken, labels & taken, labels.astype(int) + taken)
            )
            figures[:, 0] = right / (times @ np.array(pairs.sizes, dtype=float))
            figures[:, 1] = 2 * hit / either
        figures[:, 2] = roc_auc(labels, scores, times[:, query])
    return figures
