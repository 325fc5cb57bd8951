"""An AnswerKey: the value of a qualification from the answers to its test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from annotation.crowd.emulator.errors import invalid
from annotation.crowd.emulator.question import document
from annotation.crowd.emulator.question.answers import Answer
from annotation.crowd.emulator.question.document import Element, text
from annotation.crowd.emulator.question.form import Choice, Form

MAX_VALUE = 2**31 - 1


@dataclass(frozen=True)
class KeyQuestion:
    scores: Mapping[frozenset[str], int]  # for exactly these selections
    default: int


@dataclass(frozen=True)
class AnswerKey:
    questions: Mapping[str, KeyQuestion]
    value: Callable[[int], int]  # of the sum of the scores

    def grade(self, answers: Sequence[Answer]) -> int:
        chosen = {answer.identifier: frozenset(answer.chosen) for answer in answers}
        score = sum(
            question.scores.get(chosen[identifier], question.default)
            for identifier, question in self.questions.items()
        )
        return max(-MAX_VALUE, min(self.value(score), MAX_VALUE))


def read_key(xml: str, form: Form) -> AnswerKey:
    """RequestError too where it cannot grade the form."""
    root = document.read(xml, "AnswerKey", ("AnswerKey",))
    questions = {
        text(element, "QuestionIdentifier"): _question(element)
        for element in root.iterfind("Question")
    }
    _check(form, questions)
    mapping = root.find("QualificationValueMapping")
    return AnswerKey(questions, _sum if mapping is None else _value(mapping[0]))


def _check(form: Form, questions: Mapping[str, KeyQuestion]) -> None:
    for question in form.questions:
        if not isinstance(question.answer, Choice) or question.answer.other is not None:
            raise invalid(
                f"AnswerKey cannot grade question {question.identifier}, which takes free text."
            )
    strange = questions.keys() - {question.identifier for question in form.questions}
    if strange:
        raise invalid(f"AnswerKey grades question {min(strange)}, which Test does not have.")


def _question(element: Element) -> KeyQuestion:
    scores = {
        frozenset(
            (each.text or "").strip() for each in option.iterfind("SelectionIdentifier")
        ): int(text(option, "AnswerScore"))
        for option in element.iterfind("AnswerOption")
    }
    return KeyQuestion(scores, int(text(element, "DefaultScore", "0")))


def _value(mapping: Element) -> Callable[[int], int]:
    if mapping.tag == "PercentageMapping":
        most = int(text(mapping, "MaximumSummedScore"))
        return lambda score: _rounded(Decimal(100 * score) / most)
    if mapping.tag == "ScaleMapping":
        factor = Decimal(text(mapping, "SummedScoreMultiplier"))
        return lambda score: _rounded(factor * score)
    names = ("InclusiveLowerBound", "InclusiveUpperBound", "QualificationValue")
    ranges = [
        tuple(int(text(each, name)) for name in names)
        for each in mapping.iterfind("SummedScoreRange")
    ]
    outside = int(text(mapping, "OutOfRangeQualificationValue"))
    return lambda score: next(
        (value for low, high, value in ranges if low <= score <= high), outside
    )


def _sum(score: int) -> int:
    return score


def _rounded(number: Decimal) -> int:
    return int(number.to_integral_value(ROUND_HALF_UP))
