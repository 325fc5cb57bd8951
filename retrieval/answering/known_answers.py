"""Questions whose answers are known: what a system is scored on."""

from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.files.open import check_is_file
from core.files.rows import Row, RowFault, json_rows, not_empty, text_field
from core.progress import Progress, no_progress
from core.text.clean import clean_text, is_utf8, question_key
from retrieval.corpus.pair_reader import MAX_QUESTION
from retrieval.models import QaPair

LOOKUP = 2_000  # keys in one database query


@dataclass(frozen=True)
class KnownQuestion:
    text: str
    answers: tuple[str, ...]  # the answer and its aliases


def read_known(path: Path, progress: Progress = no_progress) -> list[KnownQuestion]:
    """From .jsonl or .jsonl.gz, `{"question": ..., "answers": [...]}` a line.

    A file with a row that cannot be used is refused: a question that is lost in silence would
    change the figures. `progress` counts bytes.
    """
    check_is_file(path)
    known = []
    for row in not_empty(path, json_rows(path, progress)):
        try:
            known.append(_known(row))
        except RowFault as fault:
            raise UserError(f"Line {row.line} of {path}: {fault}.") from fault
    return known


def in_the_database(questions: list[KnownQuestion]) -> int:
    """How many stand there word for word; the paper's were none of them."""
    keys = [question_key(question.text) for question in questions]
    there: set[str] = set()
    for start in range(0, len(keys), LOOKUP):
        pairs = QaPair.objects.filter(question_key__in=keys[start : start + LOOKUP])
        there.update(pairs.values_list("question_key", flat=True))
    return sum(key in there for key in keys)


def _known(row: Row) -> KnownQuestion:
    if row.fault:
        raise RowFault(row.fault)
    question = text_field(row, ("question",), limit=MAX_QUESTION)
    given = row.fields.get("answers")
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise RowFault("the answers are no list of texts")
    answers = tuple(text for one in given if (text := clean_text(one)))
    if not answers or not all(map(is_utf8, answers)):
        raise RowFault("there is no answer in UTF-8 among the answers")
    return KnownQuestion(question, answers)
