"""How often systems answer rightly, with intervals, each compared with the first of them.

An answer is right by a proxy for a judge, or because people said so. Accuracy counts the best pair
of every question, as the paper's Table 4 does; what a system would leave without an answer, and
how often it is right where it answers, stands beside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.progress import Progress, no_progress
from retrieval.answering.ablations import PAPER, WORDS, System
from retrieval.answering.answer import Answerer
from retrieval.answering.answer_match import is_right
from retrieval.answering.known_answers import KnownQuestion
from retrieval.models import QaPair
from retrieval.ranking.bootstrap import Values, intervals, p_values

DECIMALS = 4


@dataclass(frozen=True)
class Outcome:
    right: bool  # the best pair's answer is a known one, or people say that it is right
    answered: bool
    best: QaPair | None = field(default=None, compare=False)


def outcomes(
    answerer: Answerer,
    questions: Sequence[KnownQuestion],
    k: int,
    progress: Progress = no_progress,
) -> list[Outcome]:
    """`progress` counts questions."""
    scored = []
    for question in questions:
        answered = answerer.answer(question.text, k)
        best = answered.best
        right = best is not None and is_right(best.pair.answer, question.answers)
        pair = best.pair if best else None
        scored.append(Outcome(right, answered=not answered.abstained, best=pair))
        progress(1)
    return scored


def rows(
    systems: Sequence[System], scored: Mapping[str, Sequence[Outcome]]
) -> list[dict[str, object]]:
    """One for each system, by its name in `scored`, with what it is made of."""
    return [
        {
            "index": system.index.path,
            "retrievers": list(system.retrievers),
            "selector": system.selector,
            **row,
        }
        for system, row in zip(systems, compared(scored), strict=True)
    ]


def compared(scored: Mapping[str, Sequence[Outcome]]) -> list[dict[str, object]]:
    """One for each system, over the same questions in the same order, beside the first of them."""
    first = _column(next(iter(scored.values())))
    return [
        {
            "system": name,
            "words": WORDS.get(name, name),
            **_figures(outcomes),
            "difference": _difference(_column(outcomes), first) if number else None,
            "paper": PAPER[name]._asdict() if name in PAPER else {},
        }
        for number, (name, outcomes) in enumerate(scored.items())
    ]


def _figures(scored: Sequence[Outcome]) -> dict[str, object]:
    answered = [one for one in scored if one.answered]
    right = sum(one.right for one in answered)
    return {
        "accuracy": estimate(_column(scored)),
        "answered": round(len(answered) / len(scored), DECIMALS),
        "right_of_answered": round(right / len(answered), DECIMALS) if answered else None,
    }


def _difference(ours: Values, first: Values) -> dict[str, float]:
    """Over the same questions: our accuracy less the first's, and how likely by chance."""
    pairs = ours - first
    return {**estimate(pairs), "p": round(float(p_values(pairs)[0]), DECIMALS)}


def estimate(column: Values) -> dict[str, float]:
    low, high = intervals(column)
    ends = {"value": column.mean(), "low": low[0], "high": high[0]}
    return {name: round(float(number), DECIMALS) for name, number in ends.items()}


def _column(scored: Sequence[Outcome]) -> Values:
    return np.array([[float(one.right)] for one in scored])
