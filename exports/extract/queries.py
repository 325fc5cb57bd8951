"""Queries with their labelled candidates, and the votes that made the labels.

Some queries at a time: neither their texts nor their votes are in memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa

from annotation.models import Campaign, Triplet
from annotation.pipeline.labelling.label import Outcome, claims_of, outcome_of
from annotation.pipeline.labelling.votes import NO_EXPERTS, deciding_experts
from annotation.protocol.labels.claims import Claims
from annotation.protocol.labels.derivation import Evidence
from annotation.protocol.labels.majority import strict_majority
from core.errors import UserError
from core.progress import Progress
from core.text.collation import by_code_points
from exports.extract.facts import plan
from exports.extract.parquet_table import TableFile
from exports.extract.votes import Votes, VoteStream, judgments
from exports.layout.files import COUNTS, JUDGMENTS, QUERIES
from exports.layout.manifest import is_aggregated, tells_sources
from retrieval.ranking.records import EXPERT, ID_LENGTH, CandidateRecord, QueryRecord, line

CANDIDATES_PER_STEP = 6_000
ROWS = 2_000  # fetched at a time
NO_REPORTS = 0  # "Can't judge": they make no label
NOWHERE = 0  # no triplet's key: of a candidate that is not packed


class Judged(NamedTuple):
    """A candidate with its query, its columns in the order of COLUMNS.

    Nulls: a query without candidates is a row, too; a candidate that is not packed has no triplet.
    """

    query: str
    text: str
    rank: int
    score: float | None
    found_by: Mapping[str, int] | None
    pair: str
    question: str
    answer: str
    triplet: int | None
    label: int | None
    label_source: str | None
    imported: int | None
    log_odds: float | None
    votes: int | None
    yes: int | None


COLUMNS = (
    "key",
    "text",
    "candidates__rank",
    "candidates__score",
    "candidates__found_by",
    "candidates__pair__pair_key",
    "candidates__pair__question",
    "candidates__pair__answer",
    "candidates__triplet__pk",
    "candidates__triplet__label",
    "candidates__triplet__label_source",
    "candidates__triplet__imported_label",
    "candidates__triplet__posterior__log_odds",
    "candidates__triplet__votes",
    "candidates__triplet__positive_votes",
)


class Query(NamedTuple):
    key: str
    text: str
    candidates: list[Judged]  # by rank


def write_queries(
    campaigns: Sequence[Campaign], folder: Path, workers: Mapping[int, str], progress: Progress
) -> None:
    """UserError where a stored label is not the one that the valid votes make."""
    first = campaigns[0]
    check = _label_check(campaigns)
    wanted = _wanted(first)
    sourced = tells_sources(plan(first))
    claims_on = _claims(campaigns) if is_aggregated(plan(first)) else None
    stream = VoteStream(campaigns)
    with (
        (folder / QUERIES).open("wb") as queries,
        (folder / COUNTS).open("wb") as counts,
        TableFile(folder, JUDGMENTS) as table,
    ):
        for step in _steps(_queries(first)):
            candidates = [one for query in step for one in query.candidates]
            votes = stream.take([one.triplet or NOWHERE for one in candidates])
            check(candidates, votes)
            table.add(_judgments(candidates, votes, workers))
            for query in step:
                record = _record(query, sourced=sourced, claims_on=claims_on)
                queries.write(line(record))
                counts.write(orjson.dumps(_counts(query, record, wanted)) + b"\n")
            progress(len(step))


def _queries(campaign: Campaign) -> Iterator[Query]:
    """In the order of the ids."""
    rows = campaign.query_set.whole.order_by(by_code_points("key"), "candidates__rank")
    columns = rows.values_list(*COLUMNS).iterator(chunk_size=ROWS)
    for _, of_query in groupby(map(Judged._make, columns), key=itemgetter(0)):
        first, *others = of_query
        has_any = first.pair is not None
        yield Query(first.query, first.text, [first, *others] if has_any else [])


def _steps(queries: Iterator[Query]) -> Iterator[list[Query]]:
    step: list[Query] = []
    candidates = 0
    for query in queries:
        step.append(query)
        candidates += len(query.candidates)
        if candidates >= CANDIDATES_PER_STEP:
            yield step
            step, candidates = [], 0
    if step:
        yield step


def _label_check(campaigns: Sequence[Campaign]) -> Callable[[Sequence[Judged], Votes], None]:
    policy = campaigns[0].policy
    experts = {pk: said for each in campaigns for pk, said in deciding_experts(each).items()}
    claims_on = _claims(campaigns)

    @cache  # few combinations, many triplets
    def outcome(*evidence: Any) -> Outcome:
        return outcome_of(Evidence(*evidence), policy)

    def check(candidates: Sequence[Judged], votes: Votes) -> None:
        for one, cast, yes in zip(candidates, votes.cast, votes.yes, strict=True):
            if one.triplet is None:
                continue
            said = experts.get(one.triplet, NO_EXPERTS)
            stored = one.label, one.label_source, one.votes, one.yes
            claims = claims_on(one)
            by_model = claims.said(one.log_odds), claims.is_sure(one.log_odds, policy)
            if stored != outcome(cast, yes, one.imported, *said, NO_REPORTS, *by_model)[1:5]:
                judged_by = Triplet.objects.get(pk=one.triplet).campaign
                raise UserError(
                    f"The label of triplet {one.triplet} is not the one its {cast} valid votes "
                    f"make: run `quorum campaign collect {judged_by}` first."
                )

    return check


def _claims(campaigns: Sequence[Campaign]) -> Callable[[Judged], Claims]:
    """By the crowd that judged a query."""
    of_crowds = [claims_of(each) for each in campaigns]
    others = {
        key: claims
        for each, claims in zip(campaigns[1:], of_crowds[1:], strict=True)
        for key in each.query_set.queries.values_list("key", flat=True)
    }
    return lambda one: others.get(one.query, of_crowds[0])


def _judgments(candidates: Sequence[Judged], votes: Votes, workers: Mapping[int, str]) -> pa.Table:
    return judgments(
        votes,
        query_ids=[one.query for one in candidates],
        candidate_ids=[one.pair[:ID_LENGTH] for one in candidates],
        ranks=[one.rank for one in candidates],
        workers=workers,
    )


def _record(
    query: Query, *, sourced: bool, claims_on: Callable[[Judged], Claims] | None
) -> QueryRecord:
    _check_ids(query)
    labelled = [
        CandidateRecord(
            id=one.pair[:ID_LENGTH],
            question=one.question,
            answer=one.answer,
            rank=one.rank,
            score=one.score,
            label=one.label,
            yes=one.yes or 0,
            no=(one.votes or 0) - (one.yes or 0),
            found_by=one.found_by,
            label_source=one.label_source if sourced else None,
            aggregated=claims_on is not None,
            posterior=claims_on(one).shown(one.log_odds) if claims_on else None,
            majority=strict_majority(one.votes or 0, one.yes or 0) if claims_on else None,
            overruled=claims_on(one).said(one.log_odds)
            if claims_on and one.label_source == EXPERT
            else None,
        )
        for one in query.candidates
        if one.label is not None
    ]
    return QueryRecord(query.key, query.text, labelled)


def _check_ids(query: Query) -> None:
    """A release tells a query's candidates apart by the first digits of their pairs' keys."""
    for one, other in pairwise(sorted(each.pair for each in query.candidates)):
        if one[:ID_LENGTH] == other[:ID_LENGTH]:
            raise UserError(
                f"Query {query.key!r} has two candidates whose pairs {one} and {other} begin "
                f"with the same {ID_LENGTH} digits, so that a release cannot tell them apart: "
                "change the text of one of the two pairs."
            )


def _wanted(campaign: Campaign) -> int | None:
    """How many candidates a complete query has; a labelled dataset may have any number."""
    return None if campaign.query_set.brings_candidates else campaign.policy.candidates_per_query


def _counts(query: Query, record: QueryRecord, wanted: int | None) -> dict[str, object]:
    candidates, labelled = len(query.candidates), len(record.candidates)
    return {
        "id": query.key,
        "candidates": candidates,
        "labelled": labelled,
        "complete": labelled == candidates == (wanted or max(1, candidates)),
    }
