"""One question after another against one version of the index, in a process that stays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import UserError
from core.text.clean import clean_text
from retrieval.index.open_index import open_index
from retrieval.index.versions import corpus_state
from retrieval.models import IndexVersion, QaPair
from retrieval.ranking.fusion import ALONE, DENSE
from retrieval.registry.question_encoder import question_encoder
from retrieval.search.candidates import require_same_model
from retrieval.search.retrievers import Pools, Retrievers, open_retrievers
from retrieval.vectors.types import Mask, QuestionEncoder, unpacked

DEPTH = 30


@dataclass(frozen=True)
class Hit:
    pair_id: int
    question: str
    answer: str
    score: float  # cosine, rounded to 6 decimals
    rank: int
    # The rank in each retriever that found it; of BM25 alone, empty where no word is shared.
    found_by: dict[str, int]


class Searcher:
    """Encoder and index are loaded once. For a version whose files have been verified.

    A pair that is withdrawn, or whose source leaves the corpus, is no longer found from the next
    question on.
    """

    def __init__(
        self, version: IndexVersion, device: str = "auto", *, encoder: QuestionEncoder | None = None
    ) -> None:
        self.version = version
        self._encoder = encoder or question_encoder(version, device)
        require_same_model(version, self._encoder)
        self._index = open_index(version).trusted()
        self._retrievers: dict[tuple[str, ...], Retrievers] = {}
        self._state = corpus_state(version)
        self._excluded = self._index.excluded()
        self._lacking: int | None = None  # not counted yet

    def findable(self) -> int:
        """The pairs that a search may find."""
        excluded = self._excluded_now()
        return len(excluded) - int(np.count_nonzero(excluded))

    def pairs_not_indexed(self) -> int:
        """That have come since, and are not found; counted again only where something changed."""
        excluded = self._excluded_now()
        if self._lacking is None:
            self._lacking = self._index.pairs_not_indexed(excluded)
        return self._lacking

    @property
    def recall(self) -> float | None:
        """Of the nearest, as it was measured at the build; None where every pair is compared."""
        return None if self._index.index.exact else self.version.recall

    def search(
        self, question: str, k: int = DEPTH, *, retrievers: Sequence[str] = ALONE
    ) -> list[Hit]:
        """Exactly k; UserError where the index holds fewer. Cleaned as the texts of pairs are."""
        question = clean_text(question)
        among = self._open(tuple(retrievers))
        excluded, left = self._excluded_now(), self.findable()
        if not 1 <= k <= left:
            raise UserError(f"The index holds {left:,} pairs: ask for 1 to {left:,}, not {k:,}.")
        vectors = self._encoder.encode_questions([question])
        return self._hits(among, among.search([question], vectors, k, excluded))

    def _open(self, names: tuple[str, ...]) -> Retrievers:
        if (index := self._index.trusted()) is not self._index:
            self._index, self._retrievers = index, {}
        if names not in self._retrievers:
            self._retrievers[names] = open_retrievers(self.version, self._index, names)
        return self._retrievers[names]

    def _excluded_now(self) -> Mask:
        """The same array until a pair is withdrawn or restored, or comes."""
        state = corpus_state(self.version)
        if state != self._state:
            self._state, self._excluded, self._lacking = state, self._index.excluded(), None
        return self._excluded

    def _hits(self, retrievers: Retrievers, pools: Pools) -> list[Hit]:
        keys = unpacked(self._index.store.keys[pools.positions[0]])
        pairs = {pair.pair_key: pair for pair in QaPair.objects.filter(pair_key__in=keys)}
        scores: list[float] = pools.scores[0].tolist()
        return [
            Hit(
                pair_id=pairs[key].pk,
                question=pairs[key].question,
                answer=pairs[key].answer,
                score=score,
                rank=rank,
                found_by=_found_by(retrievers, pools, rank),
            )
            for rank, (key, score) in enumerate(zip(keys, scores, strict=True), 1)
        ]


def _found_by(retrievers: Retrievers, pools: Pools, rank: int) -> dict[str, int]:
    if pools.ranks is None:
        return {DENSE: rank}
    if pools.strange is not None and pools.strange[0, rank - 1]:
        return {}
    ranks = zip(retrievers.names, pools.ranks[0, rank - 1].tolist(), strict=True)
    return {name: place for name, place in ranks if place}
