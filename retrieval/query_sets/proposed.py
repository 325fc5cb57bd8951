"""Queries whose pairs are judged as they are: a sample of a corpus, or what systems answered."""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.db import transaction

from core.errors import UserError
from core.progress import no_progress
from retrieval.corpus.pair_reader import Pair, check_source
from retrieval.models import Corpus, QaPair, QuerySet
from retrieval.models.corpus import pairs_of
from retrieval.query_sets.held_out import query_key
from retrieval.query_sets.labelled_dataset import (
    Faults,
    LabelledCandidate,
    LabelledQuery,
    read_dataset,
    store_dataset,
)


@dataclass(frozen=True)
class Proposed:
    """A query set with its candidates that is not written yet."""

    queries: Sequence[LabelledQuery]
    origin: QuerySet.Origin
    seed: int | None = None
    corpus: Corpus | None = None

    @transaction.atomic
    def save(self, name: str) -> QuerySet:
        """Pairs that the database lacks are added, under the source that they came with."""
        if QuerySet.objects.filter(name=name).exists():
            raise UserError(f"There is already a query set {name!r}: choose another name.")
        query_set = QuerySet.objects.create(
            name=name, origin=self.origin, seed=self.seed, corpus=self.corpus
        )
        for _ in store_dataset(query_set, iter(self.queries)):
            pass
        return query_set


def draw_pairs(count: int, seed: int, corpus: Corpus | None = None) -> Proposed:
    """Each to be judged under its own question; pairs of one question are under one query.

    Pair keys are hashes, so a run of them from a random start is a random sample.
    """
    if count < 1:
        raise UserError(f"A sample needs at least one pair, not {count}.")
    start = hashlib.sha256(f"pairs:{seed}".encode()).hexdigest()
    there = pairs_of(corpus).filter(withdrawn_at=None).exclude(answer="").order_by("pair_key")
    turn = (there.filter(pair_key__gte=start), there.filter(pair_key__lt=start))
    drawn = list(islice(itertools.chain.from_iterable(part.iterator() for part in turn), count))
    if len(drawn) < count:
        where = f"corpus {corpus}" if corpus else "database"
        raise UserError(
            f"{count:,} pairs were asked for, but the {where} holds only {len(drawn):,} with an "
            "answer: sample fewer or add pairs by `quorum corpus import`."
        )
    of_question: dict[str, list[QaPair]] = {}
    for pair in drawn:
        of_question.setdefault(pair.question_key, []).append(pair)
    queries = [
        LabelledQuery(
            query_key(key),
            pairs[0].question,
            key,
            "",
            [_candidate(pair, rank) for rank, pair in enumerate(pairs, 1)],
        )
        for key, pairs in of_question.items()
    ]
    return Proposed(queries, QuerySet.Origin.PAIRS, seed, corpus)


def _candidate(row: QaPair, rank: int) -> LabelledCandidate:
    pair = Pair(
        row.source,
        row.pair_key,
        row.question,
        row.answer,
        row.license,
        row.question_key,
        row.pair_key,
    )
    return LabelledCandidate(pair, rank, score=None, found_by=None, label=None)


def read_proposed(path: Path, name: str, corpus: Corpus | None = None) -> Proposed:
    """The lines of a labelled dataset without labels; one that cannot be used refuses the file."""
    faults = Faults()
    made = read_dataset([path], check_source(name), license="", faults=faults, progress=no_progress)
    queries = list(made)
    if faults.count:
        raise UserError(
            f"No query set was made from {path}, {faults.in_words()}; correct or remove "
            f"{'it' if faults.count == 1 else 'them'}."
        )
    if any(one.label is not None for query in queries for one in query.candidates):
        raise UserError(
            f"{path} brings labels: write null for each that people are to judge, or bring them as "
            "they are by `quorum campaign import`."
        )
    return Proposed(queries, QuerySet.Origin.ANSWERS, corpus=corpus)
