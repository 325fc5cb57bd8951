"""What simulated workers know: which questions mean the same, read from gold files."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import UserError
from core.files.rows import Row, RowFault, read_rows, text_field
from core.text.clean import normalise_question

MOST_CHARACTERS = 200_000
KINDS = (
    "question and meaning, or query and question, or query and answer (with a label of 1 or 0; 1 "
    "when left out)"
)


@dataclass
class Gold:
    """Texts in their normal form: the meaning of questions, and the label of single pairs.

    `plain`: pairs that a reader gets right more often than others, such as controls.
    """

    meanings: dict[str, str] = field(default_factory=dict)
    labels: dict[tuple[str, str], int] = field(default_factory=dict)
    plain: set[tuple[str, str]] = field(default_factory=set)

    def is_plain(self, query: str, question: str) -> bool:
        return bool(self.plain) and _pair(query, question) in self.plain

    def label(self, query: str, question: str) -> int | None:
        """1 where both ask the same, else 0; None where the gold does not say."""
        one, other = normalise_question(query), normalise_question(question)
        # Asking the same goes both ways.
        for pair in ((one, other), (other, one)):
            if pair in self.labels:
                return self.labels[pair]
        if one in self.meanings and other in self.meanings:
            return int(self.meanings[one] == self.meanings[other])
        return None


def _pair(query: str, question: str) -> tuple[str, str]:
    return normalise_question(query), normalise_question(question)


def read_gold(paths: Iterable[Path]) -> Gold:
    """Rows of `KINDS`; raises UserError at the first that is neither or contradicts another."""
    gold = Gold()
    for path in paths:
        for row in read_rows(path, required=()):
            try:
                _add(gold, row)
            except RowFault as fault:
                raise UserError(f"Line {row.line} of the gold file {path}: {fault}.") from fault
    return gold


def learn_answers(gold: Gold, path: Path) -> None:
    """Of controls whose answers are right for their queries as well."""
    for row in read_rows(path, required=()):
        gold.labels[_question(row, "query"), _question(row, "answer")] = 1


def _add(gold: Gold, row: Row) -> None:
    if row.fault:
        raise RowFault(row.fault)
    if "meaning" in row.fields:
        meaning = text_field(row, ("meaning",), limit=MOST_CHARACTERS)
        question = _question(row, "question")
        if gold.meanings.setdefault(question, meaning) != meaning:
            raise RowFault("the question has had another meaning in an earlier row")
    elif "query" in row.fields:
        label = _label(row)
        judged = "question" if "question" in row.fields else "answer"
        pair = _question(row, "query"), _question(row, judged)
        if gold.labels.setdefault(pair, label) != label:
            raise RowFault(f"the query and the {judged} have had another label in an earlier row")
    else:
        raise RowFault(f"a row holds {KINDS}")


def _question(row: Row, column: str) -> str:
    return normalise_question(text_field(row, (column,), limit=MOST_CHARACTERS))


def _label(row: Row) -> int:
    label = row.fields.get("label", 1)
    # A table has its numbers as texts.
    if isinstance(label, bool) or label not in (0, 1, "0", "1"):
        raise RowFault(f"the label must be 1 or 0, not {label!r}")
    return int(label in (1, "1"))
