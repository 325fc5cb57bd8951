"""A user's file of gold labels: of pairs of questions, or the meanings of single questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from retrieval.errors import UserError
from retrieval.progress import Progress
from retrieval.reading import MAX_ANSWER, MAX_QUESTION
from retrieval.rows import EXCERPT, Row, RowFault, optional_field, read_rows, text_field
from retrieval.text import normalise_question, question_key

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


def read_gold_file(path: Path, *, expert: str, progress: Progress) -> Iterator[GoldPair] | Meanings:
    """The first row tells which kind the file is; `expert` is whoever a row does not name.

    UserError, with the line, at the first row that cannot be used.
    """
    rows = read_rows(path, required=(QUESTION,), progress=progress)
    first = next(rows)
    rows = chain([first], rows)
    if "meaning" in first.fields and "label" not in first.fields:
        return _meanings(path, rows)
    return (_pair(path, row, expert) for row in rows)


def bad_line(path: Path, line: int, fault: object) -> UserError:
    return UserError(f"Line {line} of {path}: {fault}; nothing was imported.")


def _pair(path: Path, row: Row, expert: str) -> GoldPair:
    try:
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
    except RowFault as fault:
        raise bad_line(path, row.line, fault) from fault


def _label(row: Row) -> int:
    label = row.fields.get("label")
    # A table has its numbers as texts.
    given = label.strip() if isinstance(label, str) else label
    if isinstance(given, bool) or given not in (0, 1, "0", "1"):
        raise RowFault(f"the label must be 1 or 0, not {str(label)[:EXCERPT]!r}")
    return int(given in (1, "1"))


def _meanings(path: Path, rows: Iterator[Row]) -> Meanings:
    meanings = Meanings(rows=0, of={})
    for row in rows:
        key, meaning = _meaning(path, row)
        meanings.rows += 1
        known = meanings.of.setdefault(key, meaning)
        if known.name != meaning.name:
            fault = f"the question has another meaning in line {known.line}"
            raise bad_line(path, row.line, fault)
    return meanings


def _meaning(path: Path, row: Row) -> tuple[str, Meaning]:
    try:
        if row.fault:
            raise RowFault(row.fault)
        if "meaning" not in row.fields:
            raise RowFault(f"it does not hold {KINDS}, as the other rows")
        if "expert" in row.fields:
            raise RowFault("meanings are one expert's: leave out the column, name them by --expert")
        question = text_field(row, QUESTION, limit=MAX_QUESTION)
        return question_key(question), Meaning(
            row.line, text_field(row, ("meaning",), limit=MAX_QUESTION)
        )
    except RowFault as fault:
        raise bad_line(path, row.line, fault) from fault
