"""A question answered by a pair of the database: a retriever finds, a selector chooses.

QUADRo, section 5.4: the selector reads the 500 pairs that the retriever found. A question whose
best pair lies below the threshold is left without an answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import UserError
from core.text.clean import clean_text
from retrieval.answering.load_selector import retrievers_threshold
from retrieval.encoders.selector import Selector
from retrieval.models import QaPair
from retrieval.ranking.fusion import ALONE
from retrieval.search.search_session import Hit, Searcher

CANDIDATES = 500
KEPT = 5  # the best, and what comes next


@dataclass(frozen=True)
class Choice:
    pair: QaPair
    score: float  # the selector's, from 0 to 1; without one the cosine
    rank: int  # the retriever's


@dataclass(frozen=True)
class Answered:
    question: str
    ranked: tuple[Choice, ...]  # the best few, best first; none where no pair was found
    candidates: int
    selector: str | None
    threshold: float | None  # None: whatever is best is the answer

    @property
    def best(self) -> Choice | None:
        return self.ranked[0] if self.ranked else None

    @property
    def abstained(self) -> bool:
        if self.best is None:
            return True
        return self.threshold is not None and self.best.score < self.threshold

    @property
    def answer(self) -> Choice | None:
        return None if self.abstained else self.best

    @property
    def nearest(self) -> tuple[Choice, ...]:
        """Beside the answer, or in place of one."""
        return self.ranked if self.abstained else self.ranked[1:]


class Answerer:
    """Without a selector the retriever's order stays, and its cosine is the score. If it was
    trained here and searches alone, its own threshold holds where none is given."""

    def __init__(
        self,
        searcher: Searcher,
        selector: Selector | None = None,
        *,
        name: str | None = None,
        threshold: float | None = None,
        retrievers: Sequence[str] = ALONE,
    ) -> None:
        """`name`: what the selector is called, where its own name says less."""
        self._searcher = searcher
        self._selector = selector
        self._name = name or (selector.name if selector else None)
        self._retrievers = retrievers
        if selector is None and threshold is None and tuple(retrievers) == ALONE:
            threshold = retrievers_threshold(searcher.version)
        self._threshold = threshold

    def answer(self, question: str, k: int = CANDIDATES) -> Answered:
        """Of a smaller database than k, all pairs are candidates. UserError where none is left."""
        return self.select(question, self.candidates(question, k))

    def candidates(self, question: str, k: int = CANDIDATES) -> list[Hit]:
        """What only makes up the number is left out."""
        left = self._searcher.findable()
        if not left:
            raise UserError(
                "No pair is left to answer with, all are withdrawn: add some by `quorum corpus "
                "import FILE --source NAME`, or restore them by `quorum corpus restore`."
            )
        hits = self._searcher.search(question, min(k, left), retrievers=self._retrievers)
        return [hit for hit in hits if hit.found_by]

    def select(self, question: str, hits: Sequence[Hit]) -> Answered:
        question = clean_text(question)
        scored = list(zip(self._scores(question, hits), hits, strict=True))
        if self._selector:
            scored.sort(key=lambda one: -one[0])  # equal ones in the retriever's order
        return Answered(
            question=question,
            ranked=_chosen(scored[:KEPT]),
            candidates=len(hits),
            selector=self._name,
            threshold=self._threshold,
        )

    def _scores(self, question: str, hits: Sequence[Hit]) -> list[float]:
        if self._selector is None:
            return [hit.score for hit in hits]
        scores = self._selector.score(question, [(hit.question, hit.answer) for hit in hits])
        if not all(map(math.isfinite, scores)):
            raise UserError(
                f"The selector {self._name} gives scores that are not numbers: use another one, "
                "or train it again."
            )
        return scores


def _chosen(scored: Sequence[tuple[float, Hit]]) -> tuple[Choice, ...]:
    """Read afresh: what has been withdrawn since it was found is left out."""
    pairs = QaPair.objects.filter(withdrawn_at=None).in_bulk([hit.pair_id for _, hit in scored])
    return tuple(
        Choice(pairs[hit.pair_id], score, hit.rank) for score, hit in scored if hit.pair_id in pairs
    )
