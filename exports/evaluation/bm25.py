"""BM25 of queries' own candidates. The corpus is all candidates of a release, each once. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retrieval.index.lexical.bm25_weights import Vocabulary, weights


class Corpus:
    """Collects the candidates and numbers their words."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}  # a candidate's row
        self.documents: list[array[int]] = []
        self.vocabulary = Vocabulary()

    def add(self, candidate: str, text: str) -> int:
        """The candidate's row; its text is read the first time that it comes."""
        row = self.ids.setdefault(candidate, len(self.ids))
        if row == len(self.documents):
            self.documents.append(self.vocabulary.numbered(text))
        return row

    def numbered(self, text: str) -> array[int]:
        return self.vocabulary.numbered(text)


class Scorer:
    """The corpus is final by now: its words count among all candidates."""

    def __init__(self, corpus: Corpus) -> None:
        self.weights = np.zeros(len(corpus.vocabulary.numbers))
        self.scores = weights(corpus.documents, corpus.vocabulary.numbers).tocsr()

    def score(self, query: Sequence[int], rows: Sequence[int]) -> NDArray[np.float64]:
        """Of the candidates in these rows for the query's words; a repeated word counts again."""
        np.add.at(self.weights, query, 1)
        scores: NDArray[np.float64] = self.scores[rows] @ self.weights
        self.weights[query] = 0
        return scores
