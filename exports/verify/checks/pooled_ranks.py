"""Whether candidates of several retrievers stand as their ranks in each of them say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from exports.verify.facts import Facts
from exports.verify.findings import quote
from retrieval.ranking.fusion import DENSE, fused_score
from retrieval.ranking.records import CandidateRecord


def pool_faults(candidates: Sequence[CandidateRecord], facts: Facts) -> Iterator[str]:
    """Of one query's; a labelled dataset may be pooled and ranked in another way."""
    for name in facts.retrievers:
        ranks = Counter((each.found_by or {}).get(name) for each in candidates)
        twice = sorted(rank for rank, times in ranks.items() if rank and times > 1)
        if twice:
            yield f"two candidates of rank {twice[0]} by {name}"
    if facts.imported:
        return
    for each in candidates:
        if not each.found_by:
            yield f"candidate {quote(each.id)}: nothing says which retriever found it"
    pooled = [fused_score((each.found_by or {}).values()) for each in candidates]
    if any(one < other for one, other in pairwise(pooled)):
        yield "ranks are not those of the pool that found_by makes"
    if any(one < other for one, other in pairwise(_dense_scores(candidates))):
        yield "scores rise with the dense ranks"


def _dense_scores(candidates: Sequence[CandidateRecord]) -> list[float]:
    """In the order of the dense ranks."""
    ranked = sorted(
        (each.found_by[DENSE], each.score)
        for each in candidates
        if each.found_by and DENSE in each.found_by and each.score is not None
    )
    return [score for _, score in ranked]
