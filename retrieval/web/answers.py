"""Answering from the site: the selector, as encoder and index, is loaded once a process."""

from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import Any

from django.conf import settings

from core.errors import UserError
from retrieval.answering.answer import CANDIDATES, Answered, Answerer
from retrieval.answering.load_selector import NamedSelector, find_selector
from retrieval.encoders.lazy import load_selector
from retrieval.encoders.selector import Selector
from retrieval.models import Corpus
from retrieval.ranking.fusion import ALONE
from retrieval.search.search_session import Searcher
from retrieval.web.search_runner import current_searcher

PATIENCE = 5  # seconds
# A selector works for one request at a time, and searches need not wait for it.
_selecting = Lock()


def answered(
    question: str, k: int = CANDIDATES, corpus: Corpus | None = None, *, fresh: bool = False
) -> tuple[Answered, dict[str, Any]]:
    """And what the search may miss: `pairs_not_indexed`, `recall`. UserError where there is no
    index, no pair, or not the selector that the settings name."""
    with current_searcher(ALONE, corpus, fresh=fresh) as searcher:
        lacking = searcher.pairs_not_indexed()
        answerer = _answerer(searcher)
        hits = answerer.candidates(question, k)
        among = {"pairs_not_indexed": lacking, "recall": searcher.recall}
    # Else a few slow ones would hold every thread of the site.
    if not _selecting.acquire(timeout=PATIENCE):
        raise UserError("Too many questions at once: try again in a moment.")
    try:
        return answerer.select(question, hits), among
    finally:
        _selecting.release()


def warm_selector() -> None:
    """The selector is loaded before anybody asks, if the settings name one."""
    if settings.SELECTOR:
        with suppress(UserError):  # whoever asks reads it; this is nobody's question
            _selector(settings.SELECTOR)


def _answerer(searcher: Searcher) -> Answerer:
    if not settings.SELECTOR:
        return Answerer(searcher)
    model, selector = _selector(settings.SELECTOR)
    return Answerer(searcher, selector, name=model.name, threshold=model.threshold)


@lru_cache(maxsize=1)
def _selector(named: str) -> tuple[NamedSelector, Selector]:
    model = find_selector(named)
    return model, load_selector(model.folder, settings.ENCODER_DEVICE)
