"""Releases of hostile texts, and what their triplets are as plain rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from exports.formats.write import write_formats
from exports.splits.splits import SPLITS
from retrieval.ranking.records import CandidateRecord, QueryRecord, line, read
from tests.worlds.hostile import ADDRESSES, MARKUP

AWKWARD = [
    *("a\tb", "a\nb", "a\rb", "a\r\nb", '"', '""', 'a""b', '"quoted"', "'", "\\n", "\\"),
    *("", " ", " both sides ", "NA", "nan", "null", "None", "-", "0", "007", "1e5", "true"),
    *("\ufeffmark", "\x0b\x0c", "\x1c\x1d\x1e\x85", "a\u2028b\u2029c", "\u200bnothing\u202e"),
    *("日本", "🙂", "e\u0301", "=1+1", "#comment", "--", "{}", "[]", "a,b;c|d"),
]
HOSTILE = [*AWKWARD, *MARKUP.values(), *ADDRESSES.values()]
# Any text but what no release holds: NUL, and halves of characters.
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
)
scores = st.one_of(st.none(), st.integers(-(10**6), 10**6).map(lambda millionths: millionths / 1e6))


@st.composite
def queries(draw: st.DrawFn, *, smallest: int = 0) -> list[QueryRecord]:
    """A split: ids in order, ranks in order with gaps, any number of candidates."""
    return [draw(_query(number)) for number in range(draw(st.integers(smallest, 4)))]


@st.composite
def _query(draw: st.DrawFn, number: int) -> QueryRecord:
    ranks = sorted(draw(st.sets(st.integers(1, 40), min_size=1, max_size=8)))
    return QueryRecord(f"q{number}", draw(texts), [draw(_candidate(rank)) for rank in ranks])


@st.composite
def _candidate(draw: st.DrawFn, rank: int) -> CandidateRecord:
    return CandidateRecord(
        id=f"c{rank:019}",
        question=draw(texts),
        answer=draw(texts),
        rank=rank,
        score=draw(scores),
        label=draw(st.integers(0, 1)),
        yes=draw(st.integers(0, 9)),
        no=draw(st.integers(0, 9)),
    )


def hostile_split(*, scored: bool = True) -> list[QueryRecord]:
    """Each hostile text as a query, a question and an answer; every third label is positive."""
    found = []
    for number, text in enumerate(HOSTILE):
        others = [HOSTILE[(number + step) % len(HOSTILE)] for step in range(10)]
        candidates = [
            CandidateRecord(
                id=f"c{(number + rank) % 60:019}",
                question=other,
                answer=text,
                rank=rank,
                score=rank / 100 if scored else None,
                label=int((number + rank) % 3 == 0),
                yes=2,
                no=1,
            )
            for rank, other in enumerate(others, start=1)
        ]
        found.append(QueryRecord(f"q{number:03}", text, candidates))
    return found


def write_release(
    folder: Path,
    train: Sequence[QueryRecord],
    dev: Sequence[QueryRecord] = (),
    test: Sequence[QueryRecord] = (),
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split, records in zip(SPLITS, (train, dev, test), strict=True):
        (folder / f"{split}.jsonl").write_bytes(b"".join(map(line, records)))
    write_formats(folder)
    return folder


def rows(folder: Path, split: str = "train") -> list[dict[str, Any]]:
    """The triplets of the JSONL, as tables have them."""
    return [
        {
            "query_id": query.id,
            "query": query.query,
            "candidate_id": one.id,
            "question": one.question,
            "answer": one.answer,
            "rank": one.rank,
            "score": one.score,
            "label": one.label,
            "yes": one.yes,
            "no": one.no,
        }
        for query in read(folder / f"{split}.jsonl")
        for one in query.candidates
    ]
