"""What a release knows of its labels' errors, and a study of what its pool hides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, expit, logit, polygamma

from annotation.protocol.aggregation.table import MOST_ODDS
from core.errors import UserError
from exports.evaluation.coverage import damaged
from exports.evaluation.integrity import campaign_facts, require_unchanged
from exports.evaluation.scoring import Labels
from exports.evaluation.worlds import (
    Flags,
    LabelChances,
    LogOdds,
    Orders,
    Worlds,
    spread,
)
from exports.layout.expert_votes import ExpertVotes, TripletKey, read_expert_votes
from exports.layout.files import GOLD
from exports.layout.manifest import ERRORS
from exports.splits.splits import SPLITS
from retrieval.ranking.bootstrap import Values
from retrieval.ranking.metrics import Way
from retrieval.ranking.records import CandidateRecord, DatasetError, read

KINDS = ("negatives", "positives")  # by label
LEAST_JUDGED = 10  # of each label by experts, before their share of errors says something
LAST_DECIMAL = 1e-4  # of a posterior
MAPPED = "The intervals also hold how uncertain the map from claims to chances is."
EXACT = "Posteriors are taken as exact: the release does not tell how sure they are."
INDEPENDENT = (
    "Given the truth, a {0} is taken to err independently of other {0}s and of the ranks that "
    "systems give."
)
RANKED = "What the retriever's rank adds to a posterior counts once, as what rankings say. "


@dataclass(frozen=True)
class Uncertainty:
    """What is asked for: whether labels may be wrong, and the report of a pool depth study."""

    labels: bool = False
    pool_depth: Path | None = None

    def __bool__(self) -> bool:
        return self.labels or self.pool_depth is not None


NOTHING_ASKED = Uncertainty()


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
    worlds, assumed = _worlds(systems, release, split, labels, way, uncertain)
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
    systems: Mapping[str, Sequence[Orders]],
    release: Path,
    split: str,
    labels: Labels,
    way: Way,
    asked: Uncertainty,
) -> tuple[Worlds, list[str]]:
    """With what is assumed, in sentences."""
    sizes = [len(judged) for judged in labels.values()]
    given = np.array([label for of_query in labels.values() for label in of_query.values()], float)
    chances, says = LabelChances(given), []
    if asked.labels:
        chances, assumed = label_chances(release, split)
        chances = chances.with_ranks(ranks_by(systems.values(), labels))
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


def ranks_by(systems: Iterable[Sequence[Orders]], labels: Labels) -> Values:
    """A row a judged pair, a column a system: the ranks by its runs, in their geometric mean."""
    return np.stack(
        [np.exp(np.mean([_log_ranks(run, labels) for run in runs], axis=0)) for runs in systems],
        axis=1,
    )


def _log_ranks(run: Orders, labels: Labels) -> Values:
    """What the run leaves out comes after the rest; in the middle where there is none."""
    ranks: list[float] = []
    for order, judged in zip(run, labels.values(), strict=True):
        places = {candidate: place for place, candidate in enumerate(order, 1)}
        last = len(order) + 1 if order else (len(judged) + 1) / 2
        ranks += [places.get(candidate, last) for candidate in judged]
    return np.log(ranks)


def label_chances(release: Path, split: str) -> tuple[LabelChances, str]:
    """With what is assumed. Experts are right; other labels are drawn by the posterior that
    they carry, or as often wrong as blind experts contradict those of the same kind."""
    experts, facts = _experts(release), campaign_facts(release)
    by_ranks = any(fit.get("rank_slope") for fit in facts.get("aggregation", ()))
    queries: list[str] = []
    rows: list[tuple[int, float, float | None, int]] = []
    judged = np.zeros((2, 2), int)  # by label, by what experts say
    for of_split, query, candidate in _candidates(release):
        said = experts.get((query, candidate.id), ExpertVotes())
        label = int(candidate.label == 1)
        if candidate.label_source != "expert" and said.sampled_yes != said.sampled_no:
            judged[label, int(said.sampled_yes > said.sampled_no)] += 1
        if of_split == split:
            queries.append(query)
            rows.append((label, _known(candidate, said), candidate.posterior, candidate.rank))
    labels, known, stated, ranks = np.array(rows, float).T
    drawn = np.isnan(known) & ~np.isnan(stated)
    parts, says = _by_posteriors(facts, queries, stated, ranks, drawn) if drawn.any() else ([], "")
    guessed = np.isnan(known) & np.isnan(stated)
    if by_ranks and guessed.any():
        raise UserError(
            f"{release} does not say how often its labels are wrong: ranks have a say in them, and "
            f"{guessed.sum():,} of {split} carry no posterior."
        )
    kinds = []
    for label, kind in enumerate(KINDS):
        pairs = guessed & (labels == label)
        kinds.append(f"{judged[label, 1 - label]} of {judged[label].sum()} {kind}")
        if not pairs.any():
            continue
        if judged[label].sum() < LEAST_JUDGED:
            raise UserError(
                f"{release} does not say how often its labels are wrong: experts judged "
                f"{judged[label].sum()} of its {kind} blindly, and {LEAST_JUDGED} are needed "
                "(`quorum experts sample`)."
            )
        parts.append((pairs, by_audit(*judged[label].tolist(), pairs=int(pairs.sum()))))
    sure = f"{len(rows) - guessed.sum():,} labels are as experts say, or drawn by their posteriors"
    if guessed.any():
        sure += (
            f", {guessed.sum():,} as often wrong as blind experts contradict those of the same "
            f"kind ({' and '.join(kinds)})"
        )
    says += RANKED * by_ranks + INDEPENDENT.format("vote" if by_ranks else "label")
    retrieved = ranks[:, None] if by_ranks else None
    return LabelChances(known, parts, retrieved), f"{sure}. {says}"


def _known(candidate: CandidateRecord, said: ExpertVotes) -> float:
    if candidate.label_source == "expert":
        return candidate.label
    return said.yes > said.no if said.yes != said.no else np.nan


def _by_posteriors(
    facts: Mapping[str, Any], queries: Sequence[str], stated: Values, ranks: Values, drawn: Flags
) -> tuple[list[tuple[Flags, LogOdds]], str]:
    """Of the `drawn` pairs, with what is assumed."""
    odds = logit(stated.clip(LAST_DECIMAL / 2, 1 - LAST_DECIMAL / 2))
    fits = facts.get("aggregation", ())
    if not fits:
        return [(drawn, LogOdds.exact(odds[drawn]))], f"{EXACT} "
    crowds = facts.get("crowds", [{"query_ids": queries}])
    crowd_of = {query: place for place, crowd in enumerate(crowds) for query in crowd["query_ids"]}
    crowd = np.array([crowd_of[query] for query in queries])
    of_crowds = [drawn & (crowd == place) for place in range(len(fits))]
    has_errors = all(name in fit for fit in fits for name in ERRORS)
    parts = [
        (pairs, _by_map(odds[pairs], fit, np.log(ranks[pairs]), has_errors=has_errors))
        for pairs, fit in zip(of_crowds, fits, strict=True)
    ]
    return parts, f"{MAPPED if has_errors else EXACT} "


def _by_map(
    odds: Values, fit: Mapping[str, Any], log_ranks: Values, *, has_errors: bool
) -> LogOdds:
    """`odds`: what the map makes of claims, from which these follow."""
    claims = ((odds - fit["offset"]) / (fit["slope"] or np.inf)).clip(-MOST_ODDS, MOST_ODDS)
    if fit["slope"] and fit.get("rank_slope") and len(odds):
        claims = _of_votes(claims, fit, fit["rank_slope"] * log_ranks)
    of_offset, of_slope, both = (fit[name] if has_errors else 0.0 for name in ERRORS)
    root = np.array([[1, 0], [both, np.sqrt(1 - both**2)]])
    errors = np.array([[of_offset], [of_slope]])
    read = np.stack([np.ones_like(claims), claims], axis=1)
    return LogOdds(read, np.array([fit["offset"], fit["slope"]]), errors * root)


def _of_votes(claims: Values, fit: Mapping[str, Any], by_rank: Values) -> Values:
    """Without what ranks add, and as many positives in all."""
    votes = claims - by_rank

    def positives(claimed: Values) -> float:
        return float(expit(fit["offset"] + fit["slope"] * claimed).mean())

    many = positives(claims)
    alike = brentq(
        lambda more: positives(votes + more) - many, by_rank.min() - 1, by_rank.max() + 1
    )
    return votes + float(alike)


def by_audit(no: int, yes: int, *, pairs: int) -> LogOdds:
    """Of labels of one kind, by what experts say of some: the log-odds of a share that is
    beta-distributed, before any is seen as Jeffreys has it."""
    mean = digamma(yes + 0.5) - digamma(no + 0.5)
    error = np.sqrt(polygamma(1, yes + 0.5) + polygamma(1, no + 0.5))
    return LogOdds(np.ones((pairs, 1)), np.array([mean]), np.array([[error]]))


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
