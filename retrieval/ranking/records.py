"""The release's record: one query a line, its labelled candidates in rank order.

    {"id": "q17", "query": "how do i ...", "candidates": [
        {"id": "4be0...", "question": "...", "answer": "...", "rank": 1, "score": 0.912345,
         "label": 1, "votes": {"yes": 2, "no": 1}}, ...]}

`rank` and `score` (cosine, 6 decimals; null where a labelled dataset has none) are the
retriever's. Where several retrievers found the candidates, `rank` is that of their pool, and
`found_by` follows the score, the rank in each that found it: {"bm25": 1, "dense": 3}. `votes`
counts the valid votes: "yes, both ask the same". In a campaign whose labels need not be their
majorities, `label_source` follows the label: majority, expert, import, or aggregator. Where an
aggregator may make labels, "aggregation" follows: {"posterior": 0.9713, "majority": 1}, the chance
of label 1 and what the majority of the votes is, or null; where an expert decided, "overruled" is
the label that the aggregator makes. Ranks may have gaps in train: a candidate without a label is in
no release. A candidate's id is that of its
question/answer pair, the same under every query.
UTF-8, one "\\n" a line, keys in this order. Pure: it knows neither Django nor a database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

# Of a pair's key, a sha256: 80 bits tell the pairs of any database apart, and fit into a column.
ID_LENGTH = 20
EXPERT = "expert"  # the source of a label


class DatasetError(ValueError):
    """A line that is no record; the message says what is wrong with it."""


@dataclass(frozen=True)
class CandidateRecord:
    id: str
    question: str
    answer: str
    rank: int
    score: float | None
    label: int
    yes: int
    no: int
    found_by: Mapping[str, int] | None = None  # None: no pool of several retrievers
    label_source: str | None = None  # None: that of all labels is the majority of the votes
    aggregated: bool = False  # the next two are known
    posterior: float | None = None
    majority: int | None = None
    overruled: int | None = None  # the aggregator's label, where an expert decided


@dataclass(frozen=True)
class QueryRecord:
    id: str
    query: str
    candidates: Sequence[CandidateRecord]


def line(record: QueryRecord) -> bytes:
    """The record as one line of a split's file."""
    values = {
        "id": record.id,
        "query": record.query,
        "candidates": [_to_dict(candidate) for candidate in record.candidates],
    }
    return orjson.dumps(values) + b"\n"


def parse(line: bytes) -> QueryRecord:
    """DatasetError where the line is not one that `line` writes."""
    try:
        values = orjson.loads(line)
        candidates = [_from_dict(candidate) for candidate in values["candidates"]]
        return QueryRecord(values["id"], values["query"], candidates)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise DatasetError(f"no record of a release ({type(error).__name__}: {error})") from error


def read(path: Path) -> Iterator[QueryRecord]:
    """A split's queries, one in memory at a time; DatasetError names file and line."""
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            try:
                yield parse(text)
            except DatasetError as error:
                raise DatasetError(f"{path.name}, line {number}: {error}") from error


def document(values: dict[str, Any]) -> bytes:
    """A file of its own, for people to read as well: stats.json, manifest.json."""
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"


def _to_dict(candidate: CandidateRecord) -> dict[str, object]:
    return {
        "id": candidate.id,
        "question": candidate.question,
        "answer": candidate.answer,
        "rank": candidate.rank,
        "score": candidate.score,
        **(_pooled(candidate.found_by)),
        "label": candidate.label,
        **({} if candidate.label_source is None else {"label_source": candidate.label_source}),
        **(_aggregation(candidate) if candidate.aggregated else {}),
        "votes": {"yes": candidate.yes, "no": candidate.no},
    }


def _aggregation(candidate: CandidateRecord) -> dict[str, object]:
    made: dict[str, object] = {"posterior": candidate.posterior, "majority": candidate.majority}
    if candidate.overruled is not None:
        made["overruled"] = candidate.overruled
    return {"aggregation": made}


def _pooled(found_by: Mapping[str, int] | None) -> dict[str, object]:
    """A database may give the names in any order."""
    return {} if found_by is None else {"found_by": dict(sorted(found_by.items()))}


def _from_dict(values: dict[str, Any]) -> CandidateRecord:
    made = values.get("aggregation")
    return CandidateRecord(
        id=values["id"],
        question=values["question"],
        answer=values["answer"],
        rank=values["rank"],
        score=values["score"],
        label=values["label"],
        yes=values["votes"]["yes"],
        no=values["votes"]["no"],
        found_by=values.get("found_by"),
        label_source=values.get("label_source"),
        aggregated=made is not None,
        posterior=made and made["posterior"],
        majority=made and made["majority"],
        overruled=made and made.get("overruled"),
    )
