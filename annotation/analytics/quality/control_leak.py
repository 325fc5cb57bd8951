"""Whether somebody who reads no item can tell the controls of a campaign's HITs from the rest.

The attacker knows of half of the HITs which items are controls, and looks at the other half: at the
words of each text, how often a query, a question and a pair come back, lengths, position and id,
and how near an item is to the others of its HIT and to all of them. Whether query and question
agree it does not ask: that is the work itself.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LEAKS_ABOVE = 0.6
MOST_HITS = 200  # that the attacker reads: few workers see more
LEAST_HITS = 8

TEXTS = ("query", "question", "answer")

Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ShownItem:
    hit: int
    position: int
    key: str  # hexadecimal, as the page names it
    query: str
    question: str
    answer: str
    is_control: bool


def leak_of(items: Sequence[ShownItem], *, seed: int = 0) -> float | None:
    """The area under the attacker's ROC curve: 0.5 is a coin, 1.0 tells all.

    None: there are too few HITs to say.
    """
    known = half_of_hits(items, seed)
    if known is None:
        return None
    # Only a measurement loads these: it takes seconds, and hundreds of megabytes.
    from scipy.sparse import csr_matrix, hstack  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    words = {text: words_of([getattr(item, text) for item in items], known) for text in TEXTS}
    features = hstack([*words.values(), csr_matrix(numbers_of(items, words, known))]).tocsr()
    attacker = LogisticRegression(max_iter=1000, class_weight="balanced")
    return area(attacker, features, items, known)


def area(attacker: Any, features: Any, items: Sequence[ShownItem], known: Mask) -> float:
    """Of an estimator of scikit-learn's that learns from the known half, on the other one."""
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415

    controls = np.array([item.is_control for item in items])
    attacker.fit(features[known], controls[known])
    return float(roc_auc_score(controls[~known], attacker.predict_proba(features[~known])[:, 1]))


def half_of_hits(items: Sequence[ShownItem], seed: int) -> Mask | None:
    """Which items the attacker knows; None where either half would say nothing."""
    hits = sorted({item.hit for item in items})
    if len(hits) < LEAST_HITS:
        return None
    known = set(random.Random(seed).sample(hits, len(hits) // 2))  # noqa: S311 reproducible
    return np.array([item.hit in known for item in items])


def words_of(texts: Sequence[str], known: Mask) -> csr_matrix:
    """TF-IDF of words and pairs of words, as the known half has them; each row of length 1."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

    reader = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    reader.fit([text for text, is_known in zip(texts, known, strict=True) if is_known])
    return reader.transform(texts)


def numbers_of(items: Sequence[ShownItem], words: Mapping[str, csr_matrix], known: Mask) -> Numbers:
    """All but the words, each column of mean 0 and spread 1 in the known half."""
    numbers: Numbers = np.column_stack(
        [
            *(_lengths([getattr(item, text) for item in items]) for text in TEXTS),
            *_returns(items),
            np.eye(max(item.position for item in items) + 1)[[item.position for item in items]],
            [int(item.key[:8], 16) / 2**32 for item in items],
            *(_nearness(words[text], items) for text in ("query", "question")),
        ]
    )
    spread = numbers[known].std(axis=0)
    scaled: Numbers = (numbers - numbers[known].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def _lengths(texts: Sequence[str]) -> Numbers:
    return np.log1p([[len(text), len(text.split())] for text in texts])


def _returns(items: Sequence[ShownItem]) -> Iterator[Numbers]:
    """How often an item's query, question and both come among all items, its query in its HIT."""
    keys: tuple[Callable[[ShownItem], tuple[object, ...]], ...] = (
        lambda item: (item.query,),
        lambda item: (item.question,),
        lambda item: (item.query, item.question),
        lambda item: (item.hit, item.query),
    )
    for key in keys:
        counts = Counter(map(key, items))
        yield np.log1p([counts[key(item)] for item in items])


def _nearness(words: csr_matrix, items: Sequence[ShownItem]) -> Numbers:
    """To the nearest other text, to all of them together, and to the others of the HIT."""
    likeness = (words @ words.T).toarray()
    np.fill_diagonal(likeness, 0)
    hits = np.array([item.hit for item in items])
    in_hit = np.where(hits[:, None] == hits[None, :], likeness, 0)
    return np.column_stack(
        [likeness.max(axis=1), likeness.mean(axis=1), in_hit.max(axis=1), in_hit.sum(axis=1)]
    )
