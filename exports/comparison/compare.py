"""Several systems, each of one or more runs (seeds), on one split: what a table and a plot show.

A system's figure is the mean over its runs, with their sample deviation. Its interval, its
difference from another system, and the first test of this are over queries: of each query's mean
over the runs. The second test is over the runs, as the papers' are: Welch's t-test of the runs'
figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from core.errors import UserError
from exports.comparison.named_runs import NamedRuns
from exports.comparison.published_results import published_results
from exports.evaluation.evaluate import differences
from exports.evaluation.pair_intervals import difference, ends, replicates
from exports.evaluation.pair_metrics import (
    PAIRWISE,
    Threshold,
    pairwise,
    threshold_of_probabilities,
    threshold_on_dev,
)
from exports.evaluation.scoring import Labels
from exports.evaluation.systems import (
    BASELINES,
    DEV,
    ORDER,
    System,
    labels_of,
    read_system,
    refuse_own_dev_run,
    used,
)
from exports.evaluation.uncertainty import NOTHING_ASKED, Uncertainty, in_worlds
from retrieval.ranking.bootstrap import FLIPS, LEVEL, REPLICATES, SEED, Values, intervals
from retrieval.ranking.metrics import METRICS, WAYS, Way, hits, values
from retrieval.ranking.read_runs import baseline_path
from retrieval.ranking.thresholds import By

DEEPEST = 30  # of the hit@k curve
DECIMALS = 6


@dataclass(frozen=True)
class _Scored:
    entry: NamedRuns
    systems: Sequence[System]  # one a run, as the next three
    per_run: Sequence[Values]
    thresholds: Sequence[Threshold]
    pairwise: Sequence[Mapping[str, float | None]]
    pairs_drawn: Values

    @property
    def by_query(self) -> Values:
        mean: Values = np.mean(self.per_run, axis=0)
        return mean


def compare(
    entries: Sequence[NamedRuns],
    release: Path,
    *,
    split: str,
    way: Way,
    against: str,
    paper: bool,
    by: By = "f1",
    uncertain: Uncertainty = NOTHING_ASKED,
) -> dict[str, object]:
    """`against`: the name of one of the entries; `by`: what thresholds are chosen by, on dev;
    `uncertain`: what intervals beside the usual ones hold as well.

    UserError on any bad input.
    """
    refuse_own_dev_run(split, any(entry.dev_runs for entry in entries))
    labels = labels_of(release, split)
    for baseline in {entry.name for entry in entries} & set(BASELINES):
        baseline_path(release, split, baseline)
    dev = labels_of(release, DEV) if any(entry.dev_runs for entry in entries) else {}
    scored = [_scored(entry, release, split, way, by, labels=labels, dev=dev) for entry in entries]
    other = next(one for one in scored if one.entry.name == against)
    depth = min(DEEPEST, max(map(len, labels.values())))
    return {
        "release": str(release),
        "split": split,
        "way": WAYS[way],
        "queries": {
            "counted": len(other.by_query),
            "dropped": len(labels) - len(other.by_query),
        },
        "against": against,
        "systems": [_report(one, None if one is other else other, depth) for one in scored],
        **in_worlds(
            {one.entry.name: [system.orders for system in one.systems] for one in scored},
            release,
            split=split,
            labels=labels,
            way=way,
            against=against,
            uncertain=uncertain,
        ),
        "papers": published_results() if paper else None,
        "level": LEVEL,
        "replicates": REPLICATES,
        "flips": FLIPS,
        "seed": SEED,
        "notes": [*(note for one in scored for note in _notes(one)), ORDER],
    }


def _scored(
    entry: NamedRuns, release: Path, split: str, way: Way, by: By, *, labels: Labels, dev: Labels
) -> _Scored:
    systems = [read_system(run, release, split, labels) for run in entry.runs]
    _refuse_unlike(entry, systems, split)
    thresholds = [threshold_of_probabilities(system.pairs) for system in systems]
    if entry.dev_runs:
        tuned = [read_system(run, release, DEV, dev) for run in entry.dev_runs]
        thresholds = [
            threshold_on_dev(system.pairs, run, by)
            for system, run in zip(tuned, entry.dev_runs, strict=True)
        ]
    return _Scored(
        entry,
        systems,
        [values(used(system.rankings, way, split)) for system in systems],
        thresholds,
        [
            pairwise(system.pairs, threshold.value)
            for system, threshold in zip(systems, thresholds, strict=True)
        ],
        replicates([system.pairs for system in systems], [one.value for one in thresholds]),
    )


def _refuse_unlike(entry: NamedRuns, systems: Sequence[System], split: str) -> None:
    """Seeds of one system differ in nothing but chance, so they have the same queries."""
    for run, system in zip(entry.runs, systems, strict=True):
        differing = set(system.missing) ^ set(systems[0].missing)
        if differing:
            raise UserError(
                f"{entry.runs[0]} and {run}, both of {entry.name}, rank different queries of "
                f"{split} (for example {min(differing)} is in one of them alone): name the runs of "
                "one system, which differ in their seeds."
            )


def _report(one: _Scored, other: _Scored | None, depth: int) -> dict[str, object]:
    return {
        "name": one.entry.name,
        "runs": [str(run) for run in one.entry.runs],
        "metrics": _metrics(one, other),
        "pairs": _pairs(one, other),
        "hit_at": _hits(one.per_run, depth),
        "coverage": [system.coverage.to_dict() for system in one.systems],
    }


def _metrics(one: _Scored, other: _Scored | None) -> dict[str, object]:
    """`other`: what it is tested against; None for that system itself."""
    low, high = intervals(one.by_query)
    less = {} if other is None else differences(one.by_query - other.by_query)
    return {
        name: {
            **over_runs(runs),
            "low": _rounded(low[column]),
            "high": _rounded(high[column]),
            **_tested(less.get(name)),
            "p_runs": None if other is None else p_over_runs(runs, _means(other, column)),
        }
        for column, name in enumerate(METRICS)
        for runs in [_means(one, column)]
    }


def _means(of: _Scored, column: int) -> list[float]:
    return [float(run[:, column].mean()) for run in of.per_run]


def _pairs(one: _Scored, other: _Scored | None) -> dict[str, object]:
    """Where a figure is undefined, so is all about it."""
    figures: dict[str, object] = {"thresholds": [threshold.value for threshold in one.thresholds]}
    for column, name in enumerate(PAIRWISE):
        runs, drawn = [run[name] for run in one.pairwise], one.pairs_drawn[:, column]
        less = p_runs = None
        if other is not None:
            others = [run[name] for run in other.pairwise]
            less = difference(runs, others, drawn - other.pairs_drawn[:, column])
            p_runs = p_over_runs(runs, others)
        figures[name] = {
            **over_runs(runs),
            **{end: _rounded(at) for end, at in ends(drawn).items()},
            **_tested(less),
            "p_runs": p_runs,
        }
    return figures


def _tested(less: Mapping[str, float | None] | None) -> dict[str, object]:
    if less is None:
        return {"p": None, "difference": None}
    known = {name: _rounded(number) for name, number in less.items()}
    return {"p": known.pop("p"), "difference": known}


def p_over_runs(ours: Sequence[float | None], theirs: Sequence[float | None]) -> float | None:
    """Welch's t-test, two-sided; None where a system has one run, or nothing differs among them."""
    mine, others = (
        [round(number, DECIMALS) for number in runs if number is not None]
        for runs in (ours, theirs)
    )
    if (len(mine), len(others)) != (len(ours), len(theirs)) or min(len(mine), len(others)) < 2:
        return None
    if np.ptp(mine) == np.ptp(others) == 0:
        return None
    sums = [
        number for of in (mine, others) for number in (np.mean(of), np.std(of, ddof=1), len(of))
    ]
    return _rounded(float(stats.ttest_ind_from_stats(*sums, equal_var=False).pvalue))


def over_runs(figures: Sequence[float | None]) -> dict[str, float | None]:
    """Mean and sample deviation; None where one is undefined, and of one run no deviation."""
    known = [number for number in figures if number is not None]
    if len(known) < len(figures):
        return {"value": None, "deviation": None}
    deviation = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return {"value": _rounded(float(np.mean(known))), "deviation": _rounded(deviation)}


def _hits(runs: Sequence[Values], depth: int) -> dict[str, list[float]]:
    """Hit@1 to Hit@depth: the mean over the runs, and at each k the lowest and the highest run."""
    curves = np.array([hits(one, depth).mean(axis=0) for one in runs])
    ends = (("value", curves.mean(axis=0)), ("lowest", curves.min(0)), ("highest", curves.max(0)))
    return {name: [round(float(share), DECIMALS) for share in curve] for name, curve in ends}


def _notes(one: _Scored) -> Iterator[str]:
    for run, system, threshold in zip(one.entry.runs, one.systems, one.thresholds, strict=True):
        value = "" if threshold.value is None else f"{threshold.value:.6g}, "
        yield f"Threshold of {one.entry.name} ({run.name}): {value}{threshold.reason}."
        yield from system.notes


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(float(number), DECIMALS)
