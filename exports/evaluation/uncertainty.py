"""What a release knows of its labels' errors, and a study of what its pool hides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from core.errors import UserError
from exports.evaluation.coverage import damaged
from exports.evaluation.integrity import require_unchanged
from exports.evaluation.scoring import Labels
from exports.evaluation.worlds import (
    Audit,
    Flags,
    LabelChances,
    Orders,
    Worlds,
    read_pairs,
    spread,
)
from exports.layout.expert_votes import ExpertVotes, TripletKey, read_expert_votes
from exports.layout.files import GOLD
from exports.splits.splits import SPLITS
from retrieval.ranking.bootstrap import Values
from retrieval.ranking.metrics import Way
from retrieval.ranking.records import CandidateRecord, DatasetError, read

KINDS = ("negatives", "positives")  # by label
LEAST_JUDGED = 10  # of each label by experts, before their share of errors says something


@dataclass(frozen=True)
class Uncertainty:
    """What is asked for: whether labels may be wrong, and the report of a pool depth study."""

    labels: bool = False
    pool_depth: Path | None = None

    def __bool__(self) -> bool:
        return self.labels or self.pool_depth is not None


CERTAIN = Uncertainty()


def in_worlds(
    systems: Mapping[str, Sequence[Orders]],
    release: Path,
    *,
    split: str,
    labels: Labels,
    way: Way,
    against: str,
    uncertain: Uncertainty,
) -> dict[str, object]:
    """Of each system, by name, the runs' metrics and how much better than the one `against`; all
    in `uncertain`, which a result that nobody asked it of does not have.

    UserError where the release, or the report, does not hold what is asked for.
    """
    if not uncertain:
        return {}
    worlds, assumed = _worlds(release, split, labels, way, uncertain)
    means = dict(
        zip(systems, worlds.means([*systems.values()], labels).swapaxes(0, 1), strict=True)
    )
    rows = [
        {
            "name": name,
            "metrics": spread(drawn),
            "difference": None if name == against else spread(drawn - means[against]),
        }
        for name, drawn in means.items()
    ]
    return {"uncertain": {"against": against, "systems": rows, "assumed": assumed}}


def _worlds(
    release: Path, split: str, labels: Labels, way: Way, asked: Uncertainty
) -> tuple[Worlds, list[str]]:
    """With what is assumed, in sentences."""
    sizes = [len(judged) for judged in labels.values()]
    given = np.array([label for of_query in labels.values() for label in of_query.values()], float)
    chances, says = LabelChances(given), []
    if asked.labels:
        chances, assumed = label_chances(release, split)
        says.append(assumed)
    hidden = np.zeros((1, 0), bool)
    if asked.pool_depth:
        hidden, first = read_depth(asked.pool_depth)
        says.append(
            "Candidates that nobody judged are drawn from a pool depth study of "
            f"{len(hidden):,} queries at ranks {first} to {first + hidden.shape[1] - 1}. The first "
            f"one that a run ranks of a query is positive as often as those at rank {first}, the "
            "second as those at the next. All deeper ones count as irrelevant."
        )
    return Worlds(chances, sizes, hidden, way), says


def label_chances(release: Path, split: str) -> tuple[LabelChances, str]:
    """With what is assumed. Experts are right; other labels are drawn by the posterior that
    they carry, or as blind experts contradict those of the same kind at the same rank."""
    experts = _experts(release)
    chances: list[float] = []
    ours, judged = _Pairs(), _Pairs()
    for of_split, query, candidate in _candidates(release):
        said = experts.get((query, candidate.id), ExpertVotes())
        if candidate.label_source != "expert" and said.sampled_yes != said.sampled_no:
            judged.add(candidate, said.sampled_yes > said.sampled_no)
        if of_split == split:
            chances.append(_chance(candidate, said))
            ours.add(candidate, False)
    given, labels = np.array(chances), np.array(ours.labels, bool)
    guessed = np.isnan(given)
    known = f"{len(given) - guessed.sum():,} labels are drawn as experts or their posteriors say"
    if not guessed.any():
        return LabelChances(given), f"{known}."
    wrong = np.array(judged.labels, bool) != np.array(judged.verdicts, bool)
    kinds = []
    for label, kind in enumerate(KINDS):
        of_kind = np.array(judged.labels, int) == label
        kinds.append(f"{wrong[of_kind].sum()} of {of_kind.sum()} {kind}")
        if of_kind.sum() < LEAST_JUDGED and (guessed & (labels == label)).any():
            raise UserError(
                f"{release} does not say how often its labels are wrong: experts judged "
                f"{of_kind.sum()} of its {kind} blindly, and {LEAST_JUDGED} are needed (`quorum "
                "experts sample`)."
            )
    audit = Audit.of(judged.read(), np.array(judged.verdicts, bool))
    return LabelChances(given, audit, ours.read()), (
        f"{known}, {guessed.sum():,} as often wrong as blind experts contradict those of the same "
        f"label near the same rank ({' and '.join(kinds)})."
    )


@dataclass
class _Pairs:
    labels: list[bool] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    verdicts: list[bool] = field(default_factory=list)

    def add(self, candidate: CandidateRecord, verdict: bool) -> None:
        self.labels.append(candidate.label == 1)
        self.ranks.append(candidate.rank)
        self.verdicts.append(verdict)

    def read(self) -> Values:
        return read_pairs(np.array(self.labels, bool), np.array(self.ranks, float))


def _chance(candidate: CandidateRecord, said: ExpertVotes) -> float:
    if candidate.label_source == "expert":
        return candidate.label
    if said.yes != said.no:
        return said.yes > said.no
    return np.nan if candidate.posterior is None else candidate.posterior


def read_depth(report: Path) -> tuple[Flags, int]:
    """A row a query, a column a rank below the pool, whether it is positive; and the first rank."""
    try:
        values = json.loads(report.read_bytes())
        first, last = int(values["first_rank"]), int(values["last_rank"])
        rows = [np.isin(np.arange(first, last + 1), ranks) for ranks in values["positive_ranks"]]
        return np.stack(rows), first
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{report} is no report of a pool depth study: write it by `quorum campaign "
            "pool-depth-report STUDY --json`."
        ) from error


def _experts(release: Path) -> Mapping[TripletKey, ExpertVotes]:
    """None where the release holds a labelled set that nobody judged here."""
    if not (release / GOLD).is_file():
        return {}
    require_unchanged(release, release / GOLD)
    try:
        return read_expert_votes(release / GOLD, decides=False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(release, error) from error


def _candidates(release: Path) -> Iterator[tuple[str, str, CandidateRecord]]:
    """With split and query, each split in its order."""
    try:
        for split in SPLITS:
            for query in read(release / f"{split}.jsonl"):
                for candidate in query.candidates:
                    yield split, query.id, candidate
    except (DatasetError, OSError) as error:
        raise damaged(release, error) from error
