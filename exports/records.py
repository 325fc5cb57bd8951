"""The release's record: one query a line, its labelled candidates in rank order.

    {"id": "q17", "query": "how do i ...", "candidates": [
        {"question": "...", "answer": "...", "rank": 1, "score": 0.912345, "label": 1,
         "votes": {"yes": 2, "no": 1}}, ...]}

`rank` and `score` (cosine, 6 decimals) are the retriever's; `votes` counts the valid votes that
made the label: "yes, both ask the same". Ranks may have gaps in train: a candidate without a
label is in no release. UTF-8, one "\\n" a line, keys in this order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CandidateRecord:
    question: str
    answer: str
    rank: int
    score: float
    label: int
    yes: int
    no: int


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
        "candidates": [_candidate(candidate) for candidate in record.candidates],
    }
    return json.dumps(values, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def document(values: dict[str, object]) -> bytes:
    """A file of its own, for people to read as well: stats.json, manifest.json."""
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"


def _candidate(candidate: CandidateRecord) -> dict[str, object]:
    return {
        "question": candidate.question,
        "answer": candidate.answer,
        "rank": candidate.rank,
        "score": candidate.score,
        "label": candidate.label,
        "votes": {"yes": candidate.yes, "no": candidate.no},
    }
