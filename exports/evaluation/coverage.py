"""Where a run and a release's split differ: what is refused, and what is said of the rest. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from core.errors import UserError
from exports.evaluation.scoring import Labels, RunScores
from exports.layout.files import PLACEMENTS
from retrieval.ranking.read_runs import quote


@dataclass(frozen=True)
class Coverage:
    """Counts; `unknown_queries` are in no split of the release."""

    missing_queries: int
    unranked_candidates: int
    unjudged_candidates: int
    queries_of_other_splits: int
    unknown_queries: int

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


def coverage(scores: RunScores, release: Path) -> Coverage:
    split_of = _split_of_queries(release) if scores.other_queries else {}
    elsewhere = sum(split_of.get(query) is not None for query in scores.other_queries)
    return Coverage(
        missing_queries=len(scores.missing_queries),
        unranked_candidates=scores.unranked,
        unjudged_candidates=scores.unjudged,
        queries_of_other_splits=elsewhere,
        unknown_queries=len(scores.other_queries) - elsewhere,
    )


def refuse_foreign_ids(
    scores: RunScores, labels: Labels, *, run: Path, release: Path, split: str
) -> None:
    """UserError where run and split have no query, or no candidate, in common."""
    if len(scores.missing_queries) == len(labels):
        theirs, ours = scores.other_queries[0], scores.missing_queries[0]
        published = _split_of_queries(release).get(theirs)
        where = f" (a query of {published})" if published else ""
        raise UserError(
            f"No query of {run} is in {split}: the run has for example {quote(theirs)}{where}, "
            f"{split} has {ours}: name the run's split by --split, or use the release's ids."
        )
    if not scores.matched:
        ours = next(candidate for judged in labels.values() for candidate in judged)
        raise UserError(
            f"No candidate of {run} is one of its query's in {split}: the run has for example "
            f"{quote(scores.unjudged_example)}, {split} has {ours}: use the release's ids."
        )


def sentences(scores: RunScores, gaps: Coverage, *, run: Path, split: str) -> Iterator[str]:
    if gaps.missing_queries:
        yield (
            f"Queries of {split} that {run} lacks: {gaps.missing_queries:,} (for example "
            f"{scores.missing_queries[0]}); they count as nothing retrieved."
        )
    if gaps.unranked_candidates:
        yield (
            f"Candidates that {run} leaves out of its queries: {gaps.unranked_candidates:,}; "
            "they count as not retrieved."
        )
    if gaps.unjudged_candidates:
        yield (
            f"Candidates of {run} that its queries lack in {split}: {gaps.unjudged_candidates:,} "
            f"(for example {quote(scores.unjudged_example)}); nobody judged them, so that they "
            "count as irrelevant and keep their places."
        )
    if gaps.queries_of_other_splits:
        yield f"Queries of other splits in {run}: {gaps.queries_of_other_splits:,}; ignored."
    if gaps.unknown_queries:
        yield f"Queries of no split in {run}: {gaps.unknown_queries:,}; ignored."


def damaged(release: Path, error: Exception) -> UserError:
    return UserError(
        f"{release} is damaged ({error}): `quorum release verify {release}` names what differs."
    )


def _split_of_queries(release: Path) -> dict[str, str | None]:
    """The split of every query of the campaign, null where it is in none."""
    try:
        with (release / PLACEMENTS).open("rb") as file:
            return {row["id"]: row["split"] for row in map(orjson.loads, file)}
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise damaged(release, error) from error
