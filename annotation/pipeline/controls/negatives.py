"""Draw a campaign's negative controls: random pairs of its corpus with unlike questions."""

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

from annotation.models import Campaign, Control
from annotation.protocol.packing.pack import draw_negatives
from annotation.protocol.policy.policy import Policy
from core.errors import UserError
from core.files.bulk_insert import insert
from retrieval.index.versions import index_root
from retrieval.models import IndexVersion
from retrieval.models.corpus import pairs_of
from retrieval.search.retrieve import current_index, pair_vectors
from retrieval.vectors.folder import open_version_store, rebuild_hint
from retrieval.vectors.types import packed

# So many pairs at most make up the controls: each then serves in some HITs, where a positive
# control serves in far more.
MOST_PAIRS = 20_000
LOOKUP = 2_000  # pairs looked up in the index at once

Row = tuple[str, int, str, str]  # the key, and the pair


class Negative(NamedTuple):
    name: str
    query: str
    question: str
    answer: str


def create_negatives(campaign: Campaign, names: list[str]) -> None:
    """One control for each name, which will serve in one HIT. A copy may have come with its own."""
    there = campaign.controls.filter(key__in=names[:1]).exists()
    drawn = [] if there else draw_for(campaign, names)
    kind = Control.Kind.NEGATIVE.value
    insert(
        Control,
        ("kind", "campaign_id", "key", "query", "question", "answer"),
        ((kind, campaign.pk, *negative) for negative in drawn),
    )


def draw_for(campaign: Campaign, names: list[str]) -> list[Negative]:
    """Read-only: as many controls as names, from pairs whose questions are far from each other."""
    index = _checked_index(campaign)
    pairs = _random_pairs(campaign, index, wanted=min(4 * len(names) + 50, MOST_PAIRS))
    retired = campaign.controls.exclude(retired_at=None).values_list("query", "question")
    near = _Nearness(pairs, campaign.policy, index, set(retired))
    drawn = draw_negatives(sorted(pairs), count=len(names), seed=campaign.seed, too_near=near)
    return [
        Negative(name, pairs[first].question, pairs[second].question, pairs[second].answer)
        for name, (first, second) in zip(names, drawn, strict=True)
    ]


def _checked_index(campaign: Campaign) -> IndexVersion:
    """Near and far are told by the model that found the candidates, or by none."""
    queries = campaign.query_set
    then, now = queries.retrieved_with, current_index(queries.corpus)
    if then is None:  # labelled elsewhere
        return now
    if (then.model, then.form) != (now.model, now.form):
        raise UserError(
            f"The candidates of {campaign} were found with {then.model} ({then.form}), but the "
            f"index is of {now.model} ({now.form}) now: {rebuild_hint(then.manifest)} first."
        )
    return now


class Pair(NamedTuple):
    pk: int
    question: str
    answer: str


def _random_pairs(campaign: Campaign, index: IndexVersion, *, wanted: int) -> dict[str, Pair]:
    """A seeded sample of the indexed pairs of the campaign's corpus, by pair key.

    Pair keys are hashes, so a run of them from a random start is a random sample: one index scan,
    the same rows whatever order they were stored in.
    """
    start = hashlib.sha256(f"negatives:{campaign.seed}".encode()).hexdigest()
    held_out = campaign.query_set.whole.values("question_key")
    there = pairs_of(campaign.query_set.corpus).filter(withdrawn_at=None)
    pairs = there.exclude(question_key__in=held_out).order_by("pair_key")
    rows = pairs.values_list("pair_key", *Pair._fields)
    turn = (rows.filter(pair_key__gte=start), rows.filter(pair_key__lt=start))
    indexed = _indexed(itertools.chain.from_iterable(part.iterator() for part in turn), index)
    return {row[0]: Pair(*row[1:]) for row in itertools.islice(indexed, wanted)}


def _indexed(rows: Iterator[Row], index: IndexVersion) -> Iterator[Row]:
    """Those that the index has a vector of, which pairs that came since have not."""
    store = open_version_store(index_root(), index.manifest)
    while some := list(itertools.islice(rows, LOOKUP)):
        places = store.positions_of(packed([row[0] for row in some]))
        yield from itertools.compress(some, places >= 0)


class _Nearness:
    """Whether two questions are too near for a negative control: by vector, or by a shared word.

    So are those of a control that a person has retired.
    """

    def __init__(
        self,
        pairs: Mapping[str, Pair],
        policy: Policy,
        index: IndexVersion,
        retired: Set[tuple[str, str]],
    ) -> None:
        self._pairs = pairs
        self._row = {key: row for row, key in enumerate(pairs)}
        self._vectors = pair_vectors([pair.pk for pair in pairs.values()], index)
        self._limit = policy.negative_max_cosine
        self._retired = retired

    def __call__(self, first: str, second: str) -> bool:
        if not self._words(first).isdisjoint(self._words(second)):
            return True
        if (self._pairs[first].question, self._pairs[second].question) in self._retired:
            return True
        vectors = self._vectors
        return float(vectors[self._row[first]] @ vectors[self._row[second]]) > self._limit

    def _words(self, key: str) -> set[str]:
        return set(re.findall(r"\w{5,}", self._pairs[key].question.casefold()))
