"""A user's file of gold labels: of pairs of questions, or the meanings of single questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from annotation.pipeline.gold.rejected_rows import Rejected
from core.files.rows import EXCERPT, Row, RowFault, optional_field, read_rows, text_field
from core.progress import Progress
from core.text.clean import normalise_question, question_key
from retrieval.corpus.pair_reader import MAX_ANSWER, MAX_QUESTION

MAX_EXPERT = 150
MAX_NOTE = 2_000
QUESTION = ("question",)
KINDS = "query, question and label, or question and meaning"


@dataclass(frozen=True, slots=True)
class GoldPair:
    """What an expert said of a query and a question, both by their keys."""

    line: int
    query: str
    question: str
    answer: str  # normalised; empty: of any answer
    label: int
    expert: str
    note: str


@dataclass(frozen=True, slots=True)
class Meaning:
    line: int
    name: str


@dataclass(slots=True)
class Meanings:
    rows: int
    of: dict[str, Meaning]  # by the question's key


def read_gold_file(
    path: Path, *, expert: str, rejected: list[Rejected], progress: Progress
) -> Iterator[GoldPair] | Meanings:
    """The first row tells which kind the file is; `expert` is for rows that name none.

    Rows that cannot be used come to `rejected`.
    """
    rows = read_rows(path, required=(QUESTION,), progress=progress)
    first = next(rows)
    rows = chain([first], rows)
    if "meaning" in first.fields and "label" not in first.fields:
        return _meanings(rows, rejected)
    return _pairs(rows, expert, rejected)


def _pairs(rows: Iterator[Row], expert: str, rejected: list[Rejected]) -> Iterator[GoldPair]:
    for row in rows:
        try:
            yield _pair(row, expert)
        except RowFault as fault:
            rejected.append(Rejected(row.line, str(fault), row.excerpt))


def _pair(row: Row, expert: str) -> GoldPair:
    if row.fault:
        raise RowFault(row.fault)
    if not {"query", "label"} <= row.fields.keys():
        raise RowFault(f"it does not hold {KINDS}, as the other rows")
    return GoldPair(
        line=row.line,
        query=question_key(text_field(row, ("query",), limit=MAX_QUESTION)),
        question=question_key(text_field(row, QUESTION, limit=MAX_QUESTION)),
        answer=normalise_question(optional_field(row, "answer", limit=MAX_ANSWER)),
        label=_label(row),
        expert=optional_field(row, "expert", limit=MAX_EXPERT) or expert,
        note=optional_field(row, "note", limit=MAX_NOTE),
    )


def _label(row: Row) -> int:
    label = row.fields.get("label")
    # A table has its numbers as texts.
    given = label.strip() if isinstance(label, str) else label
    if isinstance(given, bool) or given not in (0, 1, "0", "1"):
        raise RowFault(f"the label must be 1 or 0, not {str(label)[:EXCERPT]!r}")
    return int(given in (1, "1"))


def _meanings(rows: Iterator[Row], rejected: list[Rejected]) -> Meanings:
    meanings = Meanings(rows=0, of={})
    for row in rows:
        try:
            key, meaning = _meaning(row)
            known = meanings.of.setdefault(key, meaning)
            if known.name != meaning.name:
                raise RowFault(f"the question has another meaning in line {known.line}")
        except RowFault as fault:
            rejected.append(Rejected(row.line, str(fault), row.excerpt))
        meanings.rows += 1
    return meanings


def _meaning(row: Row) -> tuple[str, Meaning]:
    if row.fault:
        raise RowFault(row.fault)
    if "meaning" not in row.fields:
        raise RowFault(f"it does not hold {KINDS}, as the other rows")
    if "expert" in row.fields:
        raise RowFault(
            "meanings are one expert's: leave out the column and name the expert beside the file "
            "(--expert)"
        )
    question = text_field(row, QUESTION, limit=MAX_QUESTION)
    return question_key(question), Meaning(
        row.line, text_field(row, ("meaning",), limit=MAX_QUESTION)
    )
