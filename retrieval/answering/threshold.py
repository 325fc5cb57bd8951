"""Below which score a question is better left without an answer, chosen on dev. Pure.

QUADRo leaves open how a system learns "how to not answer to improve system F1". Here: of the
queries of dev, those are answered whose best candidate's score is the threshold or above.

    precision   right answers / queries answered
    recall      right answers / queries with an answer among their candidates
    F1          their harmonic mean, 2 x right / (answered + answerable)
    accuracy    right answers, and queries without an answer that get none / all queries

The threshold is the score with the highest F1, or accuracy, or precision; of several, the lowest,
which answers the most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import attrgetter

from retrieval.ranking.thresholds import By


@dataclass(frozen=True)
class TopAnswer:
    """Of one query: what its best candidate is worth."""

    score: float
    right: bool
    answerable: bool  # an answer is among the candidates, the best or another

    def __post_init__(self) -> None:
        if self.right and not self.answerable:
            raise ValueError("a right answer is among the candidates")


@dataclass(frozen=True)
class Threshold:
    """And what it comes to on the queries that it was chosen on."""

    value: float  # one of the scores as it is: rounded up, it would turn that answer away
    precision: float
    recall: float
    f1: float
    coverage: float  # answered / all queries


def top_answer(scores: Sequence[float], labels: Sequence[int]) -> TopAnswer:
    """Of a query's candidates in the retriever's order, which settles equal scores."""
    best = max(range(len(scores)), key=scores.__getitem__)
    return TopAnswer(scores[best], right=bool(labels[best]), answerable=any(labels))


@dataclass(frozen=True)
class _At:
    """What a threshold comes to, exactly."""

    value: float
    right: int
    answered: int
    rightly_none: int
    answerable: int
    queries: int

    @property
    def f1(self) -> Fraction:
        return Fraction(2 * self.right, self.answered + self.answerable)

    @property
    def accuracy(self) -> Fraction:
        return Fraction(self.right + self.rightly_none, self.queries)

    @property
    def precision(self) -> Fraction:
        return Fraction(self.right, self.answered)


def choose_threshold(answers: Iterable[TopAnswer], by: By = "f1") -> Threshold | None:
    """None where no query's best candidate is right, as where there is no query: every threshold
    is then as useless as the others."""
    known = list(answers)
    if not any(one.right for one in known):
        return None
    # Later ones have the lower thresholds: of equally good ones, the last stays.
    best = max(reversed(list(_thresholds(known))), key=attrgetter(by))
    return Threshold(
        value=best.value,
        precision=float(best.precision),
        recall=best.right / best.answerable,
        f1=float(best.f1),
        coverage=best.answered / best.queries,
    )


def _thresholds(answers: Sequence[TopAnswer]) -> Iterator[_At]:
    """Of falling scores."""
    answerable = sum(one.answerable for one in answers)
    right = answered = 0
    rightly_none = len(answers) - answerable
    falling = sorted(answers, key=lambda one: -one.score)
    for score, equal in groupby(falling, key=lambda one: one.score):
        for one in equal:
            answered += 1
            right += one.right
            rightly_none -= not one.answerable
        yield _At(score, right, answered, rightly_none, answerable, len(answers))
