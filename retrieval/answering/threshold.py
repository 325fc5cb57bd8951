"""Below which score a question is better left without an answer, chosen on dev. Pure.

QUADRo leaves open how a system learns "how to not answer to improve system F1". Here: of the
queries of dev, those are answered whose best candidate's score is the threshold or above.

    precision   right answers / queries answered
    recall      right answers / queries with an answer among their candidates
    F1          their harmonic mean, 2 x right / (answered + answerable)

The threshold is the score with the highest F1; of several, the lowest, which answers the most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby


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


def choose_threshold(answers: Iterable[TopAnswer]) -> Threshold | None:
    """None where no query's best candidate is right, as where there is no query: every threshold
    is then as useless as the others."""
    known = list(answers)
    # Later ones have the lower thresholds: of equal F1, the last stays.
    best = max(reversed(list(_thresholds(known))), key=lambda one: one[0], default=None)
    if best is None or not best[0]:
        return None
    f1, value, right, answered = best
    answerable = sum(one.answerable for one in known)
    return Threshold(
        value=value,
        precision=right / answered,
        recall=right / answerable,
        f1=float(f1),
        coverage=answered / len(known),
    )


def _thresholds(answers: Sequence[TopAnswer]) -> Iterator[tuple[Fraction, float, int, int]]:
    """F1, exactly, then the score, the right answers and the queries answered; falling scores."""
    answerable = sum(one.answerable for one in answers)
    right = answered = 0
    falling = sorted(answers, key=lambda one: -one.score)
    for score, equal in groupby(falling, key=lambda one: one.score):
        for one in equal:
            answered += 1
            right += one.right
        yield Fraction(2 * right, answered + answerable), score, right, answered
