"""Corpora: named sets of sources, each with indexes of its own."""

from typing import ClassVar

from django.db import connection, models

from retrieval.models.pair import QaPair

ALL = "all"  # every source, present and future: no row, but null wherever a corpus is named


MANY = 10_000  # sources
# One look into an index for each value: the pairs are too many to read.
_DISTINCT = """
WITH RECURSIVE seen(value) AS (
    SELECT MIN({column}) FROM {table} WHERE {only}
    UNION ALL
    SELECT (SELECT MIN({column}) FROM {table} WHERE {only} AND {column} > seen.value)
    FROM seen WHERE seen.value IS NOT NULL
)
SELECT value FROM seen WHERE value IS NOT NULL LIMIT {most}
"""


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
        return _distinct("source", "1 = 1", [])
    return sorted(corpus.sources.values_list("source", flat=True))


def licences_of(source: str, most: int) -> list[str]:
    """Those that its pairs are under, in order; an empty one first, where pairs state none."""
    return _distinct("license", "source = %s", [source, source], most)


def _distinct(column: str, only: str, given: list[str], most: int = MANY) -> list[str]:
    """`given`: what `only` asks for, twice."""
    statement = _DISTINCT.format(column=column, only=only, table=QaPair._meta.db_table, most=most)
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return [value for (value,) in cursor.fetchall()]


def pairs_of(corpus: Corpus | None) -> models.QuerySet[QaPair]:
    """Withdrawn ones among them; None: every pair."""
    if corpus is None:
        return QaPair.objects.all()
    return QaPair.objects.filter(source__in=sources_of(corpus))
