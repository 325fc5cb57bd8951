"""What systems answered, as a file: people judge it, and figures are made of it afterwards.

A line is a query of a labelled dataset without labels; each of its candidates says whose best pair
it is, and whether that system would have answered with it or stayed silent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.files.open import check_is_file
from core.files.rows import Row, RowFault, json_rows, not_empty, text_field
from core.text.clean import pair_key, question_key
from retrieval.answering.known_answers import KnownQuestion
from retrieval.answering.scoring import Outcome
from retrieval.corpus.pair_reader import MAX_ANSWER, MAX_QUESTION
from retrieval.models import QaPair


@dataclass(frozen=True)
class Given:
    """An answer to a question: by these systems, each with whether it would have answered."""

    pair_key: str
    systems: Mapping[str, bool]


@dataclass(frozen=True)
class GivenAnswers:
    question_key: str
    answers: Sequence[Given]


def given_answers(
    questions: Sequence[KnownQuestion], scored: Mapping[str, Sequence[Outcome]]
) -> list[GivenAnswers]:
    """`scored`: by the systems' names, in the order of the questions."""
    return [
        GivenAnswers(
            question_key(question.text),
            [Given(pair.pair_key, systems) for pair, systems in _by_pair(outcomes)],
        )
        for question, outcomes in _by_question(questions, scored)
    ]


def write_answers(
    path: Path, questions: Sequence[KnownQuestion], scored: Mapping[str, Sequence[Outcome]]
) -> None:
    lines = [
        json.dumps({"query": question.text, "candidates": _candidates(question, outcomes)})
        for question, outcomes in _by_question(questions, scored)
    ]
    try:
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from error


def _by_question(
    questions: Sequence[KnownQuestion], scored: Mapping[str, Sequence[Outcome]]
) -> Iterator[tuple[KnownQuestion, dict[str, Outcome]]]:
    for number, question in enumerate(questions):
        yield question, {name: outcomes[number] for name, outcomes in scored.items()}


def _candidates(
    question: KnownQuestion, outcomes: Mapping[str, Outcome]
) -> list[dict[str, object]]:
    given = _by_pair(outcomes)
    if not given:
        raise UserError(f"No system finds a pair for {question.text!r}: leave the question out.")
    return [
        {
            "question": pair.question,
            "answer": pair.answer,
            "label": None,
            "systems": systems,
        }
        for pair, systems in given
    ]


def _by_pair(outcomes: Mapping[str, Outcome]) -> list[tuple[QaPair, dict[str, bool]]]:
    """Each pair once, however many systems answer with it."""
    given: dict[str, tuple[QaPair, dict[str, bool]]] = {}
    for name, outcome in outcomes.items():
        if outcome.best:
            _, systems = given.setdefault(outcome.best.pair_key, (outcome.best, {}))
            systems[name] = outcome.answered
    return list(given.values())


def read_answers(path: Path) -> list[GivenAnswers]:
    check_is_file(path)
    given = []
    for row in not_empty(path, json_rows(path)):
        try:
            given.append(_given(row))
        except RowFault as fault:
            raise UserError(f"Line {row.line} of {path}: {fault}.") from fault
    return given


def _given(row: Row) -> GivenAnswers:
    if row.fault:
        raise RowFault(row.fault)
    candidates = row.fields.get("candidates")
    if not isinstance(candidates, list) or not all(isinstance(one, dict) for one in candidates):
        raise RowFault("the list of candidates is missing")
    query = text_field(row, ("query",), limit=MAX_QUESTION)
    answers = [_answer(Row(row.line, one)) for one in candidates]
    return GivenAnswers(question_key(query), answers)


def _answer(row: Row) -> Given:
    question = text_field(row, ("question", "text"), limit=MAX_QUESTION)
    answer = text_field(row, ("answer",), limit=MAX_ANSWER)
    systems = row.fields.get("systems")
    if not isinstance(systems, dict) or not all(isinstance(one, bool) for one in systems.values()):
        raise RowFault("a candidate does not say by which systems it is, each with true or false")
    return Given(pair_key(question, answer), systems)
