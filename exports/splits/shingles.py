"""What two texts have in common: their character trigrams.

Characters, not words: they bear spelling and inflection, and texts without spaces have them too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from core.text.clean import normalise_question

LENGTH = 3
CHUNK = 128  # texts compared with all others at a time


def plain(text: str) -> str:
    """NFKC, one case, single spaces, neither punctuation nor invisible marks; of a text that has
    nothing else, just that."""
    normal = normalise_question(text)
    kept = "".join(_kept(character) for character in normal)
    return " ".join(kept.split()) or normal or "".join(text.split())


@cache
def _kept(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":  # joiners, marks of direction
        return ""
    return " " if category.startswith("P") else character


def letters(text: str) -> str:
    """Equal for texts that differ in case, punctuation and white space alone."""
    return plain(text).replace(" ", "")


def shingles(text: str) -> set[str]:
    padded = f" {plain(text)} "
    return {padded[start : start + LENGTH] for start in range(max(1, len(padded) - LENGTH + 1))}


def incidence(texts: Sequence[str]) -> csr_matrix:
    """Texts x shingles: 1 where the text has it."""
    columns: dict[str, int] = {}
    indices: list[int] = []
    ends = [0]
    for text in texts:
        indices += [columns.setdefault(shingle, len(columns)) for shingle in sorted(shingles(text))]
        ends.append(len(indices))
    return csr_matrix(
        (np.ones(len(indices), dtype=np.float32), indices, ends), shape=(len(texts), len(columns))
    )


def jaccard(
    table: csr_matrix, left: NDArray[np.intp], right: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Of each text of `left` with the one of `right` beside it."""
    sizes = np.diff(table.indptr)
    common = np.asarray(table[left].multiply(table[right]).sum(axis=1)).ravel().astype(float)
    similar: NDArray[np.float64] = common / (sizes[left] + sizes[right] - common)
    return similar


def nearest(left: csr_matrix, right: csr_matrix) -> NDArray[np.float64]:
    """The highest Jaccard of each text of `left` with any of `right`, which has at least one."""
    sizes = np.diff(right.indptr)
    columns = right.T.tocsr()
    closest = []
    for start in range(0, left.shape[0], CHUNK):
        rows = left[start : start + CHUNK]
        common = (rows @ columns).toarray().astype(float)
        own = np.diff(rows.indptr)[:, np.newaxis]
        closest.append((common / (own + sizes - common)).max(axis=1))
    return np.concatenate(closest) if closest else np.zeros(0)
