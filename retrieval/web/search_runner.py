"""Searching the current index from the site: encoder and index are loaded once a process."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from django.conf import settings

from core.errors import UserError
from retrieval.index.lazy import has_lexical_index
from retrieval.index.versions import chosen_index, current_indexes, index_root, require_fresh
from retrieval.models import Corpus, IndexVersion, QaPair
from retrieval.ranking.fusion import ALONE, BM25
from retrieval.search.search_session import DEPTH, Hit, Searcher
from retrieval.vectors.folder import rebuild_hint, verify

log = logging.getLogger(__name__)

# Of a question, characters on a page: twelve bytes each at most in an address of 8,190.
MAX_ASKED = 650
# So few pairs' words are read within a second or two, while somebody waits.
READ_AT_ONCE = 20_000
OPEN = 4  # indexes at once, of as many corpora, each with an encoder in memory

# Libraries and a model are loaded, and an encoder works, for one request at a time.
_alone = Lock()


@dataclass(frozen=True)
class SearchResult:
    pair: QaPair
    hit: Hit


@dataclass(frozen=True)
class SearchResults:
    results: list[SearchResult]
    pairs_not_indexed: int
    recall: float | None  # see Searcher


def find(
    question: str, retrievers: Sequence[str], corpus: Corpus | None = None, *, fresh: bool = False
) -> SearchResults:
    """The nearest pairs; what only makes up the number is left out. UserError where there is no
    index that can be searched so."""
    with current_searcher(retrievers, corpus, fresh=fresh) as searcher:
        lacking = searcher.pairs_not_indexed()
        k = min(DEPTH, searcher.findable())
        hits = searcher.search(question, k, retrievers=retrievers) if k else []
        recall = searcher.recall
    pairs = QaPair.objects.in_bulk([hit.pair_id for hit in hits])
    results = [SearchResult(pairs[hit.pair_id], hit) for hit in hits if hit.found_by]
    return SearchResults(results, lacking, recall)


@contextmanager
def current_searcher(
    retrievers: Sequence[str], corpus: Corpus | None = None, *, fresh: bool = False
) -> Iterator[Searcher]:
    """For one request at a time. UserError where there is no index that can be searched so."""
    version = chosen_index(corpus)
    if "store" not in version.manifest:
        raise UserError(
            f"The index was made by an older version of Quorum: {rebuild_hint(version.manifest)}."
        )
    if fresh:
        require_fresh(version)
    with _alone:
        if BM25 in retrievers and not (version.pairs <= READ_AT_ONCE or has_lexical_index(version)):
            raise UserError(
                "This index has no keyword index yet: search by meaning, or rebuild it with its "
                "keyword index."
            )
        yield _searcher(version.pk, str(index_root()))


def warm() -> None:
    """Libraries, model and the newest index are loaded before anybody asks, if there is one."""
    try:
        if indexes := current_indexes():
            newest = max(indexes, key=lambda index: (index.chosen_at, index.pk))
            with current_searcher(ALONE, newest.corpus) as searcher:
                searcher.search("warm", 1)
    except Exception:  # whoever asks is told; this is nobody's question
        log.warning("the search could not be warmed up", exc_info=True)


def is_loaded() -> bool:
    """Whether this process has searched before: the first time, libraries and models load."""
    return _searcher.cache_info().currsize > 0


@lru_cache(maxsize=OPEN)
def _searcher(version: int, root: str) -> Searcher:
    """`root`: where its files lie, which are verified here, once."""
    index = IndexVersion.objects.select_related("corpus").get(pk=version)
    verify(index_root(), index.path, index.manifest)
    return Searcher(index, settings.ENCODER_DEVICE)
