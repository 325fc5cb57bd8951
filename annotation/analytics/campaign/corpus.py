"""The corpus that a campaign draws on, in words: its size, its sources and their licences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from annotation.models import Campaign
from core.text.words import listed, plural
from retrieval.corpus.corpora import indexed_pairs
from retrieval.models import Corpus
from retrieval.models.corpus import licences_of, name_of, sources_of

SOURCES = 6  # named beside a corpus
LICENCES = 6  # of a source, at most


@dataclass(frozen=True)
class CampaignCorpus:
    """Read without a count over its pairs."""

    corpus: Corpus | None
    pairs: int | None  # of the index that the candidates were found in, or would be; None: no index

    @property
    def name(self) -> str:
        return name_of(self.corpus)

    @cached_property
    def sources(self) -> Sequence[str]:
        return sources_of(self.corpus)

    @property
    def in_words(self) -> str:
        of = plural(len(self.sources), "source")
        size = of if self.pairs is None else f"{plural(self.pairs, 'pair')} of {of}"
        names = f": {listed(self.sources, SOURCES)}" if self.sources else ""
        return f"{self.name} ({size}{names})"

    @cached_property
    def licences(self) -> Mapping[str, Sequence[str]]:
        """Of the first SOURCES; an empty one where pairs state none."""
        return {name: licences_of(name, LICENCES) for name in self.sources[:SOURCES]}

    @property
    def licences_in_words(self) -> str:
        stated = [f"{name} ({_stated(these)})" for name, these in self.licences.items()]
        if others := len(self.sources) - len(stated):
            stated.append(f"and {plural(others, 'more source')}, listed with the corpus")
        return "; ".join(stated)

    def sentences(self) -> Iterator[str]:
        """Where the texts come from, and what they may be used for."""
        stated = self.licences_in_words or "it has no sources"
        yield f"The pairs come from the corpus {self.name}: {stated}."
        if unstated := [name for name, these in self.licences.items() if "" in these]:
            yield (
                f"No licence is stated for pairs of {', '.join(unstated)}: find out whether you "
                "may show and release them."
            )


def _stated(licences: Sequence[str]) -> str:
    named = [licence for licence in licences if licence]
    if not named:
        return "no licence stated" if licences else "no pairs yet"
    others = " and maybe others" if len(licences) == LICENCES else ""
    some = ", none for some pairs" if "" in licences else ""
    return ", ".join(named) + others + some


def corpus_of(campaign: Campaign) -> CampaignCorpus:
    queries = campaign.query_set
    index = queries.retrieved_with
    return CampaignCorpus(queries.corpus, index.pairs if index else indexed_pairs(queries.corpus))
