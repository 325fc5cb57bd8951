"""BM25 of queries' own candidates. The corpus is all candidates of a release, each once. Pure.

Words: the text in NFKC and case-folded, split wherever neither a letter, a digit nor a mark
stands. Scripts that write no spaces (Chinese, Japanese, Thai and others) count each character as
a word. No stemming, no stop words: the same for every language.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Sequence

import bm25s
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

# It asks for all of its own messages, whatever the settings say.
logging.getLogger("bm25s").setLevel(logging.WARNING)

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Python's \w lacks them, and the words of India would fall apart at their vowels.
MARKS = "".join(
    chr(code) for code in range(0x300, 0x20000) if unicodedata.category(chr(code))[0] == "M"
)
WORD = re.compile(rf"(?=\w)[{UNSPACED}][{MARKS}]*|(?:[^\W_{UNSPACED}][{MARKS}]*)+")
ASCII_WORD = re.compile("[a-z0-9]+")


def words(text: str) -> list[str]:
    if text.isascii():
        return ASCII_WORD.findall(text.lower())
    return WORD.findall(unicodedata.normalize("NFKC", text).casefold())


class Corpus:
    """Collects the candidates and numbers their words."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}  # a candidate's row
        self.documents: list[array[int]] = []
        self.vocabulary: defaultdict[str, int] = defaultdict()
        self.vocabulary.default_factory = self.vocabulary.__len__

    def add(self, candidate: str, text: str) -> int:
        """The candidate's row; its text is read the first time that it comes."""
        row = self.ids.setdefault(candidate, len(self.ids))
        if row == len(self.documents):
            self.documents.append(self.numbered(text))
        return row

    def numbered(self, text: str) -> array[int]:
        return array("i", map(self.vocabulary.__getitem__, words(text)))


class Scorer:
    """Lucene's BM25 with bm25s' defaults (k1 = 1.5, b = 0.75); the corpus is final by now."""

    def __init__(self, corpus: Corpus) -> None:
        self.weights = np.zeros(len(corpus.vocabulary))
        self.scores = _scores(corpus)

    def score(self, query: Sequence[int], rows: Sequence[int]) -> NDArray[np.float64]:
        """Of the candidates in these rows for the query's words; a repeated word counts again."""
        np.add.at(self.weights, query, 1)
        scores: NDArray[np.float64] = self.scores[rows] @ self.weights
        self.weights[query] = 0
        return scores


def _scores(corpus: Corpus) -> csr_matrix:
    """What each word adds to each candidate's score."""
    shape = len(corpus.documents), len(corpus.vocabulary)
    if not any(corpus.documents):
        return csr_matrix(shape, dtype=np.float32)
    index = bm25s.BM25(csc_backend="scipy")
    index.index(
        (corpus.documents, corpus.vocabulary), create_empty_token=False, show_progress=False
    )
    columns = (index.scores["data"], index.scores["indices"], index.scores["indptr"])
    return csc_matrix(columns, shape).tocsr()
