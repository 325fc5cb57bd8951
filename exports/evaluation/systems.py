"""Systems read beside a release's split: what their runs rank, and where run and split differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from exports.evaluation.coverage import Coverage, coverage, damaged, refuse_foreign_ids, sentences
from exports.evaluation.integrity import campaign_facts, require_unchanged
from exports.evaluation.scoring import Labels, Pairs, counted, score_run, split_labels
from exports.layout.files import PLACEMENTS
from exports.splits.splits import SPLITS
from retrieval.ranking.metrics import Ranking, Way
from retrieval.ranking.read_runs import quote, run_path
from retrieval.ranking.records import DatasetError

RETRIEVER = "retriever"
BASELINES = (RETRIEVER, "bm25")
DEV = "dev"  # where thresholds are chosen
AS_IMPORTED = (
    "retriever is the order in which the candidates were imported: whether a retriever made it is "
    "not recorded."
)
ORDER = (
    "Ranked as trec_eval ranks: by score, as 32-bit floats. Where scores tie, the greater "
    "candidate id comes first. The rank column is not read."
)


@dataclass(frozen=True)
class System:
    """One run's."""

    rankings: Sequence[Ranking]  # of the split's queries, in its order
    orders: Sequence[Sequence[str]]  # what each of them ranks, best first
    pairs: Pairs
    missing: Sequence[str]  # queries of the split that it lacks
    coverage: Coverage
    notes: Sequence[str]


def labels_of(release: Path, split: str) -> Labels:
    """UserError where the split is empty, or the folder is no release's, or a damaged one's."""
    if split not in SPLITS:
        raise UserError(f"There is no split {quote(split)}: choose {', '.join(SPLITS)}.")
    if not all((release / name).is_file() for name in (f"{split}.jsonl", PLACEMENTS)):
        raise UserError(
            f"{release} is no release's folder, it lacks {split}.jsonl or {PLACEMENTS}: name the "
            "folder that `quorum release build` wrote, or the one in the archive."
        )
    require_unchanged(release, release / f"{split}.jsonl")
    try:
        labels = split_labels(release, split)
    except (DatasetError, OSError) as error:
        raise damaged(release, error) from error
    if not labels:
        raise UserError(f"The split {split} of {release} is empty: choose another by --split.")
    return labels


def refuse_own_dev_run(split: str, has_dev_run: bool) -> None:
    if split == DEV and has_dev_run:
        raise UserError(
            "A run on dev would choose a threshold on the split that it is applied to: leave "
            "--dev-run out with --split dev."
        )


def read_system(run: Path, release: Path, split: str, labels: Labels) -> System:
    require_unchanged(release, run)
    scores = score_run(run, labels)
    refuse_foreign_ids(scores, labels, run=run, release=release, split=split)
    covered = coverage(scores, release)
    return System(
        list(scores.rankings.values()),
        list(scores.orders.values()),
        scores.pairs,
        scores.missing_queries,
        covered,
        [
            *sentences(scores, covered, run=run, split=split),
            *_as_imported(run, release, split),
        ],
    )


def _as_imported(run: Path, release: Path, split: str) -> Iterator[str]:
    if run == run_path(release, split, RETRIEVER):
        facts = campaign_facts(release)
        if "retriever" in facts and facts["retriever"] is None:
            yield AS_IMPORTED


def used(rankings: Sequence[Ranking], way: Way, split: str) -> list[Ranking]:
    """Those that count; UserError where none does."""
    counts = counted(rankings, way)
    if not counts:
        raise UserError(
            f"Each query of {split} has only positive or only negative candidates, and --way clean "
            "drops them: evaluate by --way qrc."
        )
    return counts
