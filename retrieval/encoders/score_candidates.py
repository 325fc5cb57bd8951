"""A model's scores of every candidate of a dataset, some queries in memory at a time.

Any model that `retrieval.encoders.lazy` loads: a retriever scores by the cosine of query and
candidate, an answer selector by what it says of the two together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.encoders.selector import Selector
from retrieval.ranking.input_forms import RETRIEVER_FORMS
from retrieval.ranking.records import CandidateRecord, QueryRecord
from retrieval.ranking.runs import ScoredQuery
from retrieval.vectors.types import Encoder, Vectors

# Candidates scored at once: enough that texts of one length fill whole batches.
AT_ONCE = 4_096


def score_with_encoder(
    encoder: Encoder, form: str, records: Iterable[QueryRecord], progress: Progress = no_progress
) -> Iterator[ScoredQuery]:
    """`form`: QQ encodes a candidate's question, QQA both its texts; `progress` counts queries."""
    if form not in RETRIEVER_FORMS:
        forms = " or ".join(RETRIEVER_FORMS)
        raise UserError(f"A retriever reads the form {forms}, not {form}: choose one of them.")
    for some in _together(records):
        queries = encoder.encode_questions([record.query for record in some])
        rows, vectors = _candidates(encoder, form, some)
        for record, query in zip(some, queries, strict=True):
            own = vectors[[rows[_texts(candidate)] for candidate in record.candidates]]
            yield _checked(record, (own @ query).tolist(), encoder.name)
        progress(len(some))


def score_with_selector(
    selector: Selector, records: Iterable[QueryRecord], progress: Progress = no_progress
) -> Iterator[ScoredQuery]:
    """`progress` counts queries."""
    for some in _together(records):
        scores = iter(
            selector.score_all(
                [
                    (record.query, candidate.question, candidate.answer)
                    for record in some
                    for candidate in record.candidates
                ]
            )
        )
        for record in some:
            of_query = [next(scores) for _ in record.candidates]
            yield _checked(record, of_query, selector.name)
        progress(len(some))


def _together(records: Iterable[QueryRecord]) -> Iterator[list[QueryRecord]]:
    some: list[QueryRecord] = []
    candidates = 0
    for record in records:
        some.append(record)
        candidates += len(record.candidates)
        if candidates >= AT_ONCE:
            yield some
            some, candidates = [], 0
    if some:
        yield some


def _candidates(
    encoder: Encoder, form: str, records: Sequence[QueryRecord]
) -> tuple[dict[tuple[str, str], int], Vectors]:
    """Each encoded once, however many of the queries have it; told by its texts, as a dataset made
    elsewhere may use an id again under another query."""
    distinct = dict.fromkeys(
        _texts(candidate) for record in records for candidate in record.candidates
    )
    rows = {texts: row for row, texts in enumerate(distinct)}
    if form == "QQ":
        return rows, encoder.encode_questions([question for question, _ in distinct])
    return rows, encoder.encode_pairs(list(distinct))


def _texts(candidate: CandidateRecord) -> tuple[str, str]:
    return candidate.question, candidate.answer


def _checked(record: QueryRecord, scores: Sequence[float], name: str) -> ScoredQuery:
    if not all(map(math.isfinite, scores)):
        raise UserError(
            f"{name} gives candidates of query {record.id} a score that is not a number, so its "
            "weights are broken: use another model, or train it again."
        )
    names = [candidate.id for candidate in record.candidates]
    return record.id, list(zip(names, scores, strict=True))
