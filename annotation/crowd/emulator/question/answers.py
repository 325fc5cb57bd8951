"""What a worker entered: checked against the form, written as QuestionFormAnswers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from xml.sax.saxutils import escape

import regex

from annotation.crowd.emulator.question.document import SCHEMAS
from annotation.crowd.emulator.question.form import Choice, Form, FreeText, Pattern, Question

QUESTION_FORM_ANSWERS = f"{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"
OTHER = "-other"  # ends the name of the field for what is not in the list
PATTERN_SECONDS = 0.1  # for one look at one answer, whatever the requester wrote

# What XML 1.0 cannot hold, not even escaped.
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")

Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    identifier: str
    text: str | None = None  # None: of a choice
    chosen: tuple[str, ...] = ()
    other: str = ""


@dataclass(frozen=True)
class Reply:
    answers: tuple[Answer, ...]
    faults: Mapping[str, str]  # field -> what is wrong with it, in one sentence

    @property
    def xml(self) -> str:
        return write(self.answers)


def read_reply(form: Form, fields: Fields) -> Reply:
    posted: dict[str, list[str]] = {}
    for name, value in fields:
        posted.setdefault(name, []).append(value.replace("\r\n", "\n"))
    questions = list(form.questions)
    answers = tuple(_answer(question, posted) for question in questions)
    faults = {
        question.field: fault
        for question, answer in zip(questions, answers, strict=True)
        if (fault := next(_faults(question, answer), None))
    }
    return Reply(answers, faults)


def _answer(question: Question, posted: Mapping[str, list[str]]) -> Answer:
    values = posted.get(question.field, [])
    if isinstance(question.answer, FreeText):
        return Answer(question.identifier, text=values[0] if values else "")
    # A list that chooses nothing posts an empty string.
    chosen = tuple(dict.fromkeys(value for value in values if value))
    other = posted.get(question.field + OTHER, [""])[0]
    return Answer(question.identifier, None, chosen, other if question.answer.other else "")


def _faults(question: Question, answer: Answer) -> Iterator[str]:
    given = (answer.text or "").strip() or answer.chosen or answer.other.strip()
    if question.is_required and not given:
        yield "This question needs an answer."
    rule = question.answer
    if isinstance(rule, FreeText):
        yield from _text_faults(rule, answer.text or "")
        return
    if given:
        yield from _choice_faults(rule, answer)
    if rule.other is not None and answer.other:
        yield from _text_faults(rule.other, answer.other)


def _choice_faults(rule: Choice, answer: Answer) -> Iterator[str]:
    if set(answer.chosen) - {each.identifier for each in rule.selections}:
        yield "Choose among the answers that are offered."
    if len(answer.chosen) > rule.high:
        yield f"Choose at most {rule.high}."
    if rule.high == 1 and answer.chosen and answer.other:
        yield "Choose one answer or write another one, not both."
    if len(answer.chosen) + bool(answer.other) < rule.low:
        yield f"Choose at least {rule.low}."


def _text_faults(rule: FreeText, text: str) -> Iterator[str]:
    if len(text) < rule.min_length:
        yield f"Write at least {_characters(rule.min_length)}."
    if rule.max_length is not None and len(text) > rule.max_length:
        yield f"Write at most {_characters(rule.max_length)}."
    if rule.is_number and text and not _is_number(rule, text.strip()):
        yield _number_wanted(rule)
    yield from (each.error for each in rule.patterns if not _fits(each, text))


def _characters(number: int) -> str:
    return f"{number} character{'s' * (number != 1)}"


def _is_number(rule: FreeText, text: str) -> bool:
    if not NUMBER.fullmatch(text):
        return False
    number = Decimal(text)
    return (rule.low is None or rule.low <= number) and (rule.high is None or number <= rule.high)


def _number_wanted(rule: FreeText) -> str:
    bounds = [
        f"{words} {bound}"
        for words, bound in (("at least", rule.low), ("at most", rule.high))
        if bound is not None
    ]
    return f"Enter a number{' of ' * bool(bounds)}{' and '.join(bounds)}."


def _fits(pattern: Pattern, text: str) -> bool:
    """Of what takes too long MTurk's own browser check would be no judge either."""
    flags = regex.IGNORECASE if pattern.ignores_case else 0
    try:
        return bool(regex.search(pattern.regex, text, flags, timeout=PATTERN_SECONDS))
    except TimeoutError:
        return True


def answers_xml(fields: Fields) -> str:
    """Of a requester's own form, where every field is free text."""
    return write(Answer(name, text=value) for name, value in fields)


def write(answers: Iterable[Answer]) -> str:
    """A QuestionFormAnswers document. What XML cannot hold becomes U+FFFD."""
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
        f'<QuestionFormAnswers xmlns="{QUESTION_FORM_ANSWERS}">'
        f"{''.join(_written(each) for each in answers)}</QuestionFormAnswers>"
    )


def _written(answer: Answer) -> str:
    parts = [("QuestionIdentifier", answer.identifier)]
    if answer.text is not None:
        parts.append(("FreeText", answer.text))
    parts += [("SelectionIdentifier", each) for each in answer.chosen]
    if answer.other:
        parts.append(("OtherSelectionText", answer.other))
    inside = "".join(f"<{name}>{_escaped(said)}</{name}>" for name, said in parts)
    return f"<Answer>{inside}</Answer>"


def _escaped(text: str) -> str:
    # A bare carriage return would come back as a line feed.
    return escape(NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})
