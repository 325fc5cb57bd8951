"""Making, naming and changing corpora."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from core.errors import UserError
from retrieval.corpus.pair_reader import check_source
from retrieval.models import Corpus, CorpusSource, IndexVersion, QaPair
from retrieval.models.corpus import ALL, name_of, sources_of

NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{Corpus.MAX_NAME - 1}}}")


@dataclass(frozen=True)
class CorpusRow:
    corpus: str
    sources: list[str]
    indexed: int | None  # pairs of its current index


def corpora() -> list[CorpusRow]:
    """All pairs first, then by name; without a count."""
    every: list[Corpus | None] = [None, *Corpus.objects.order_by("name")]
    return [CorpusRow(name_of(one), sources_of(one), indexed_pairs(one)) for one in every]


def indexed_pairs(corpus: Corpus | None) -> int | None:
    """Of its current index; None: it has none."""
    newest = IndexVersion.objects.filter(corpus=corpus).order_by("-chosen_at", "-pk")
    return newest.values_list("pairs", flat=True).first()


def corpus_named(name: str) -> Corpus | None:
    """None: all pairs."""
    if name in ("", ALL):
        return None
    corpus = Corpus.objects.filter(name=name).first() if NAME.fullmatch(name) else None
    if corpus is None:
        there_are = ", ".join(
            [ALL, *Corpus.objects.order_by("name").values_list("name", flat=True)]
        )
        raise UserError(f"There is no corpus {name[:60]!r}; there are: {there_are}.")
    return corpus


def named_corpus(name: str) -> Corpus:
    """One whose sources can be changed."""
    corpus = corpus_named(name)
    if corpus is None:
        raise UserError(f"The corpus {ALL} is built in and has every source: name another one.")
    return corpus


@transaction.atomic
def create_corpus(name: str, sources: Sequence[str] = ()) -> Corpus:
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name[:60]!r} cannot name a corpus: take 1 to {Corpus.MAX_NAME} letters, digits, "
            "hyphens and underscores, a letter or a digit first."
        )
    try:
        with transaction.atomic():
            corpus = Corpus.objects.create(name=name)
    except IntegrityError as error:
        raise UserError(f"There is a corpus {name!r} already: choose another name.") from error
    for source in sources:
        add_source(corpus, source)
    return corpus


def add_source(corpus: Corpus, source: str) -> bool:
    """Of pairs that are there; whether it was new to the corpus."""
    source = check_source(source)
    if not QaPair.objects.filter(source=source).exists():
        raise UserError(
            f"There are no q/a pairs of a source {source!r}: `quorum corpus list` names the "
            f"sources; `quorum corpus import --corpus {corpus}` imports one."
        )
    return include(corpus, source)


def include(corpus: Corpus, source: str) -> bool:
    return CorpusSource.objects.get_or_create(corpus=corpus, source=source)[1]


def remove_source(corpus: Corpus, source: str) -> None:
    """From the next search on its pairs are not found; what was retrieved before stays."""
    if not corpus.sources.filter(source=source).delete()[0]:
        raise UserError(f"The corpus {corpus} has no source {source!r}: nothing was removed.")


@transaction.atomic
def remove_corpus(corpus: Corpus) -> None:
    """With its indexes; the pairs stay. Refused where a campaign belongs to it."""
    if names := list(corpus.query_sets.order_by("name").values_list("name", flat=True)):
        raise UserError(
            f"The corpus {corpus} has the campaigns {', '.join(names[:5])}"
            f"{' and more' if len(names) > 5 else ''}: it stays."
        )
    corpus.delete()
