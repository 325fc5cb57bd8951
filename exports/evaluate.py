"""A user's own run, scored as the baselines are and tested against one of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exports.bootstrap import FLIPS, LEVEL, REPLICATES, SEED, intervals, p_values
from exports.coverage import Coverage, coverage, damaged, refuse_foreign_ids, sentences
from exports.layout import PLACEMENTS
from exports.runs import run_path, shown
from exports.scoring import (
    Labels,
    counted,
    figures,
    rounded,
    score_run,
    split_labels,
    values,
)
from exports.splits import SPLITS
from retrieval.dataset import DatasetError
from retrieval.errors import UserError
from retrieval.metrics import METRICS, WAYS, Ranking, Way

BASELINES = ("retriever", "bm25")
ORDER = (
    "Ranked as trec_eval ranks: by score, as 32-bit floats; where scores tie, the greater "
    "candidate id first; the rank column is not read."
)

Figures = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class _System:
    rankings: Sequence[Ranking]
    coverage: Coverage
    notes: Sequence[str]


def evaluate(run: Path, release: Path, *, split: str, against: str, way: Way) -> dict[str, object]:
    """`against`: a baseline's name, or the path of another run. UserError on any bad input."""
    labels = _labels(release, split)
    baseline = run_path(release, split, against) if against in BASELINES else Path(against)
    ours, theirs = (_system(path, release, split, labels) for path in (run, baseline))
    used, others = (counted(system.rankings, way) for system in (ours, theirs))
    if not used:
        raise UserError(
            f"Each query of {split} has only positive or only negative candidates, and --way clean "
            "drops them: evaluate by --way qrc."
        )
    return {
        "run": str(run),
        "release": str(release),
        "split": split,
        "way": WAYS[way],
        "queries": {"counted": len(used), "dropped": len(labels) - len(used)},
        "metrics": figures(used, way),
        "against": {"run": against, "metrics": figures(others, way)},
        "difference": _differences(used, others),
        "level": LEVEL,
        "replicates": REPLICATES,
        "flips": FLIPS,
        "seed": SEED,
        "coverage": ours.coverage.to_dict(),
        "notes": [*ours.notes, *theirs.notes, ORDER],
    }


def _labels(release: Path, split: str) -> Labels:
    if split not in SPLITS:
        raise UserError(f"There is no split {shown(split)}: choose {', '.join(SPLITS)}.")
    if not all((release / name).is_file() for name in (f"{split}.jsonl", PLACEMENTS)):
        raise UserError(
            f"{release} is no release's folder, it lacks {split}.jsonl or {PLACEMENTS}: name the "
            "folder that `manage.py export` wrote, or the one in the archive."
        )
    try:
        labels = split_labels(release, split)
    except (DatasetError, OSError) as error:
        raise damaged(release, error) from error
    if not labels:
        raise UserError(f"The split {split} of {release} is empty: choose another by --split.")
    return labels


def _system(path: Path, release: Path, split: str, labels: Labels) -> _System:
    scores = score_run(path, labels)
    refuse_foreign_ids(scores, labels, run=path, release=release, split=split)
    found = coverage(scores, release)
    notes = list(sentences(scores, found, run=path, split=split))
    return _System(list(scores.rankings.values()), found, notes)


def _differences(used: Sequence[Ranking], others: Sequence[Ranking]) -> Figures:
    """For each metric, over the same queries in the same order: our mean less theirs."""
    pairs = values(used) - values(others)
    columns = zip(METRICS, pairs.mean(axis=0), *intervals(pairs), p_values(pairs), strict=True)
    return {
        name: dict(zip(("value", "low", "high", "p"), map(rounded, numbers), strict=True))
        for name, *numbers in columns
    }
