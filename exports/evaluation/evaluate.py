"""A user's own run, scored as the baselines are and tested against one of them. Pure."""

from __future__ import annotations

from pathlib import Path

from exports.evaluation.pair_metrics import (
    Threshold,
    pairwise,
    threshold_of_probabilities,
    threshold_on_dev,
)
from exports.evaluation.scoring import Pairs, figures, rounded
from exports.evaluation.systems import (
    BASELINES,
    DEV,
    ORDER,
    labels_of,
    read_system,
    refuse_own_dev_run,
    used,
)
from exports.evaluation.uncertainty import NOTHING_ASKED, Uncertainty, in_worlds
from retrieval.ranking.bootstrap import FLIPS, LEVEL, REPLICATES, SEED, Values, intervals, p_values
from retrieval.ranking.metrics import METRICS, WAYS, Way, values
from retrieval.ranking.read_runs import baseline_path
from retrieval.ranking.thresholds import By


def evaluate(
    run: Path,
    release: Path,
    *,
    split: str,
    against: str,
    way: Way,
    dev_run: Path | None = None,
    by: By = "f1",
    uncertain: Uncertainty = NOTHING_ASKED,
) -> dict[str, object]:
    """`against`: a baseline's name, or the path of another run; `dev_run`: the same system's on
    dev, where the threshold is chosen `by` a measure; `uncertain`: what intervals beside the
    usual ones hold as well. UserError on any bad input."""
    refuse_own_dev_run(split, dev_run is not None)
    labels = labels_of(release, split)
    baseline = baseline_path(release, split, against) if against in BASELINES else Path(against)
    ours, theirs = (read_system(path, release, split, labels) for path in (run, baseline))
    mine, others = (used(system.rankings, way, split) for system in (ours, theirs))
    return {
        "run": str(run),
        "release": str(release),
        "split": split,
        "way": WAYS[way],
        "queries": {"counted": len(mine), "dropped": len(labels) - len(mine)},
        "metrics": figures(mine, way),
        "against": {"run": against, "metrics": figures(others, way)},
        "difference": {
            name: {end: rounded(number) for end, number in one.items()}
            for name, one in differences(values(mine) - values(others)).items()
        },
        **in_worlds(
            {str(run): [ours.orders], against: [theirs.orders]},
            release,
            split=split,
            labels=labels,
            way=way,
            against=against,
            uncertain=uncertain,
        ),
        "pairs": _pair_by_pair(ours.pairs, _threshold(ours.pairs, dev_run, release, by)),
        "level": LEVEL,
        "replicates": REPLICATES,
        "flips": FLIPS,
        "seed": SEED,
        "coverage": ours.coverage.to_dict(),
        "notes": [*ours.notes, *theirs.notes, ORDER],
    }


def _threshold(pairs: Pairs, dev_run: Path | None, release: Path, by: By) -> Threshold:
    """From which score on a pair of the run is taken for positive."""
    if dev_run is None:
        return threshold_of_probabilities(pairs)
    dev = read_system(dev_run, release, DEV, labels_of(release, DEV))
    return threshold_on_dev(dev.pairs, dev_run, by)


def differences(by_query: Values) -> dict[str, dict[str, float]]:
    """Of each metric, our mean less theirs; `by_query`: ours of each query less theirs."""
    columns = (by_query.mean(axis=0), *intervals(by_query), p_values(by_query))
    return {
        name: dict(zip(("value", "low", "high", "p"), numbers, strict=True))
        for name, *numbers in zip(METRICS, *(column.tolist() for column in columns), strict=True)
    }


def _pair_by_pair(pairs: Pairs, chosen: Threshold) -> dict[str, object]:
    figures = pairwise(pairs, chosen.value)
    return {
        "judged": len(pairs.labels),
        "positive": sum(pairs.labels),
        "threshold": chosen.value,
        "threshold_from": chosen.reason,
        **{name: rounded(value) for name, value in figures.items()},
    }
