"""Who tells the controls: those who do not read the items, and those who do."""

from collections.abc import Mapping, Sequence, Set

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from annotation.analytics.quality.control_leak import (
    TEXTS,
    Numbers,
    ShownItem,
    area,
    half_of_hits,
    leak_of,
    numbers_of,
    words_of,
)
from annotation.protocol.labels.control_candidates import shared
from annotation.protocol.labels.control_candidates import words_of as split
from benchmarks.control_leak.arms import Arm, Triple


def attacks(arm: Arm, seed: int, pairs: Set[tuple[str, str]]) -> dict[str, float]:
    """The AUC of each.

    `words`: what a campaign's milestones show. `trees`: the same without words, but of any shape.
    `comparing`: both texts of an item are compared, as somebody does who begins to read.
    `searching`: they also look each text up in the corpus, whose `pairs` are those.
    `knowing`: the right answer of every item is known, and nothing else: half of the controls are
    a Yes, and of the real items as many as there are.
    """
    items = arm.items
    known = half_of_hits(items, seed)
    assert known is not None
    words = {text: words_of([getattr(item, text) for item in items], known) for text in TEXTS}
    numbers = numbers_of(items, words, known)
    compared = np.column_stack([numbers, _compared(items)])
    searched = np.column_stack([compared, _found(items, pairs)])
    trees = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    reader = LogisticRegression(max_iter=1000, class_weight="balanced")
    texts = hstack([*words.values(), csr_matrix(compared)]).tocsr()
    return {
        "words": leak_of(items, seed=seed) or 0.0,
        "trees": area(trees, numbers, items, known),
        "comparing": max(area(trees, compared, items, known), area(reader, texts, items, known)),
        "searching": area(trees, searched, items, known),
        "knowing": _knowing(items, {**arm.yes, **arm.expected}),
    }


def _compared(items: Sequence[ShownItem]) -> Numbers:
    pairs = [(split(item.query), split(item.question)) for item in items]
    return np.array(
        [
            [shared(one, other), len({*one} & {*other}) / max(1, len({*one} | {*other}))]
            for one, other in pairs
        ]
    )


def _found(items: Sequence[ShownItem], pairs: Set[tuple[str, str]]) -> Numbers:
    """Whether the corpus has the question, the answer, and both together."""
    questions, answers = {question for question, _ in pairs}, {answer for _, answer in pairs}
    return np.array(
        [
            [
                item.question in questions,
                item.answer in answers,
                (item.question, item.answer) in pairs,
            ]
            for item in items
        ],
        dtype=float,
    )


def _knowing(items: Sequence[ShownItem], yes: Mapping[Triple, int]) -> float:
    answers = [yes[item.query, item.question, item.answer] for item in items]
    return float(roc_auc_score([item.is_control for item in items], answers))
