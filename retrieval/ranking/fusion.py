"""One ranking of several retrievers' rankings: reciprocal rank fusion. Pure.

G. Cormack, C. Clarke, S. Buettcher: Reciprocal rank fusion outperforms Condorcet and individual
rank learning methods (SIGIR 2009), with the constant of that paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, Generic, TypeVar

CONSTANT = 60
DECIMALS = 12
DENSE, BM25 = "dense", "bm25"
RETRIEVERS = (DENSE, BM25)
IN_WORDS = {DENSE: "meaning", BM25: "words (BM25)"}  # "found by ..."
# What a query set has whose record names none.
ALONE = (DENSE,)

K = TypeVar("K", bound=Any)  # keys that have an order


@dataclass(frozen=True)
class Fused(Generic[K]):
    key: K
    found_by: dict[str, int]  # the rank, from 1, in each retriever that found it


def fused(ranked: Mapping[str, Sequence[K]], k: int) -> list[Fused[K]]:
    """The k best of all lists, each in the order of one retriever; ties in the order of the keys.

    Fewer where the lists hold fewer keys; a key is in a list once.
    """
    ranks: dict[K, dict[str, int]] = {}
    for retriever, keys in ranked.items():
        for rank, key in enumerate(keys, start=1):
            ranks.setdefault(key, {})[retriever] = rank
    order = sorted(ranks, key=lambda key: (-fused_score(ranks[key].values()), key))
    return [Fused(key, ranks[key]) for key in order[:k]]


def fused_score(ranks: Iterable[int]) -> float:
    """The same whichever list is added first, so that ranks 1 and 40 tie with 40 and 1."""
    return round(fsum(1 / (CONSTANT + rank) for rank in ranks), DECIMALS)
