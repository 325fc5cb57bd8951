"""Corpora: named sets of sources, each with indexes of its own."""

from collections.abc import Iterator
from typing import ClassVar

from django.db import models

from retrieval.models.pair import QaPair

ALL = "all"  # every source, present and future: no row, but null wherever a corpus is named


class Corpus(models.Model):
    MAX_NAME = 60

    name = models.SlugField(max_length=MAX_NAME, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "corpora"
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(name=ALL), name="corpus_all_is_built_in"),
        ]

    def __str__(self) -> str:
        return self.name


class CorpusSource(models.Model):
    """A source may be named before anything is imported into it, and be in many corpora."""

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="sources")
    source = models.CharField(max_length=100)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["corpus", "source"], name="source_once_per_corpus"),
        ]

    def __str__(self) -> str:
        return self.source


def name_of(corpus: Corpus | None) -> str:
    return ALL if corpus is None else corpus.name


def sources_of(corpus: Corpus | None) -> list[str]:
    """None: every source that there is."""
    if corpus is None:
        return list(_distinct(QaPair.objects.all(), "source"))
    return sorted(corpus.sources.values_list("source", flat=True))


def licences_of(source: str) -> Iterator[str]:
    """Those that its pairs are under, in order; an empty one first, where pairs state none."""
    return _distinct(QaPair.objects.filter(source=source), "license")


def _distinct(pairs: models.QuerySet[QaPair], field: str) -> Iterator[str]:
    """One look into an index for each: the pairs are too many to read."""
    values = pairs.order_by(field).values_list(field, flat=True)
    last = values.first()
    while last is not None:
        yield last
        last = values.filter(**{f"{field}__gt": last}).first()


def pairs_of(corpus: Corpus | None) -> models.QuerySet[QaPair]:
    """Withdrawn ones among them; None: every pair."""
    if corpus is None:
        return QaPair.objects.all()
    return QaPair.objects.filter(source__in=sources_of(corpus))
