"""Whether one assignment passes its control triplets (QUADRo, section 4), and why not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum


class RejectionReason(Enum):
    """Why an assignment fails, the first that holds: what the worker reads, what the card says."""

    UNANSWERED = (
        "Questions without an answer",
        "Questions left without an answer: {count}.",
        "left a question without an answer",
    )
    MISSED = (
        "Wrong answers to check questions",
        "Check questions answered wrongly: {count}. Their answers follow from the instructions.",
        "missed at least one control",
    )
    MANUAL = "Another reason, given by a reviewer", "", ""  # a person's: no check, no rule

    def __init__(self, label: str, sentence: str, rule: str) -> None:
        self.key = self.name.lower()  # as stored, and as programs read it
        self.label = label
        self.sentence = sentence
        self.rule = rule


def reasons_in_words(counts: Mapping[str, int]) -> str:
    """`counts`: of assignments, by the reasons' keys."""
    numbers = [(reason.label, counts.get(reason.key, 0)) for reason in RejectionReason]
    return "; ".join(f"{label} ({count:,})" for label, count in numbers if count)


@dataclass(frozen=True)
class ControlCheck:
    """The items that each reason holds for; their keys are sorted."""

    failures: Mapping[RejectionReason, tuple[str, ...]]

    @property
    def passed(self) -> bool:
        return not any(self.failures.values())

    @property
    def failure(self) -> str:
        """Its reason's key; empty: it passed."""
        return "" if self.passed else self.reason.key

    @property
    def reason(self) -> RejectionReason:
        """Of an assignment that failed."""
        return next(reason for reason in RejectionReason if self.failures.get(reason))

    def explain(self) -> str:
        """What the worker reads of an assignment that failed."""
        return self.reason.sentence.format(count=len(self.failures[self.reason]))


def check_controls(
    expected: Mapping[str, int],
    answers: Mapping[str, int],
    items: Collection[str],
    cannot_judge: Collection[str] = (),
) -> ControlCheck:
    """One missed control or one unanswered item of any kind fails the assignment.

    `expected` maps each control's item key to its right answer, `items` are all of the HIT's. Who
    can't judge a control misses it: else saying so of every item would pass.
    """
    answered = {key: value for key, value in answers.items() if value in (0, 1)}
    said = {*answered, *cannot_judge}
    missed = [key for key, right in expected.items() if key in said and answered.get(key) != right]
    wrong = {
        RejectionReason.UNANSWERED: {*items, *expected} - said,
        RejectionReason.MISSED: missed,
    }
    return ControlCheck({reason: tuple(sorted(keys)) for reason, keys in wrong.items()})
