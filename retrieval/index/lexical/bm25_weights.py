"""Words of texts, and what BM25 says that each of them adds to a text's score. Pure.

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
from collections.abc import Mapping, Sequence

import bm25s
import numpy as np
from scipy.sparse import csc_matrix

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


class Vocabulary:
    """Numbers words in the order in which they come."""

    def __init__(self) -> None:
        self.numbers: defaultdict[str, int] = defaultdict()
        self.numbers.default_factory = self.numbers.__len__

    def numbered(self, text: str) -> array[int]:
        return array("i", map(self.numbers.__getitem__, words(text)))


def weights(documents: Sequence[array[int]], vocabulary: Mapping[str, int]) -> csc_matrix:
    """What each word, a column, adds to the score of each document, a row; never negative.

    Lucene's BM25 with bm25s' defaults (k1 = 1.5, b = 0.75).
    """
    shape = len(documents), len(vocabulary)
    if not any(documents):
        return csc_matrix(shape, dtype=np.float32)
    index = bm25s.BM25(csc_backend="scipy")
    index.index((documents, vocabulary), create_empty_token=False, show_progress=False)
    columns = (index.scores["data"], index.scores["indices"], index.scores["indptr"])
    return csc_matrix(columns, shape)
