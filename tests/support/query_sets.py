"""Query sets made in one call."""

from pathlib import Path

from retrieval.models import Corpus, QuerySet
from retrieval.query_sets.held_out import draw_queries, own_queries


def sample_queries(name: str, count: int, seed: int, corpus: Corpus | None = None) -> QuerySet:
    return draw_queries(count, seed, corpus=corpus).save(name)


def load_queries(name: str, path: Path, corpus: Corpus | None = None) -> QuerySet:
    return own_queries(path, corpus).save(name)
