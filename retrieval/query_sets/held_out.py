"""Held-out queries: sampled from the database, or the user's own."""

import hashlib
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from django.db import IntegrityError, connection, models, transaction
from django.db.models import Exists, F, OuterRef, Q

from core.errors import UserError
from core.files.rows import Row, RowFault, optional_field, read_rows, text_field
from core.progress import Progress, no_progress
from core.text.clean import clean_text, question_key
from retrieval.corpus.pair_reader import MAX_ID, MAX_QUESTION
from retrieval.models import Corpus, Query, QuerySet
from retrieval.models.corpus import pairs_of, sources_of

MAX_NAME = 100
LOOKUP = 10_000  # keys in one database query
BATCH = 500  # rows in one update
QUERY = ("query", "question")
NO_WORDS = question_key("")
KEY = re.compile(r"[A-Za-z0-9._-]{1,40}")
ID = ("id", "query_id")
FAULTS_SHOWN = 3
Key = TypeVar("Key", str, int)
CHANGED = (
    "Another query set was made, or pairs were withdrawn, while the queries were drawn. No query "
    "set was created: run the command again."
)


@dataclass(frozen=True)
class Draft:
    key: str
    text: str
    question_key: str


class Unsaved(Protocol):
    """A query set that is not written yet."""

    def save(self, name: str) -> QuerySet: ...


@dataclass(frozen=True)
class Drawn:
    """The queries of a set that is not written yet."""

    drafts: Sequence[Draft]
    origin: QuerySet.Origin
    seed: int | None = None
    duplicates: int = 0
    corpus: Corpus | None = None

    @transaction.atomic
    def save(self, name: str) -> QuerySet:
        """UserError where another one has taken the name, or some of a sample, meanwhile."""
        if self.origin == QuerySet.Origin.SAMPLE:
            _wait_for_other_samples()
            _check_still_free(self.drafts, self.corpus)
        return _save(
            self.drafts,
            name=name,
            origin=self.origin,
            seed=self.seed,
            duplicates=self.duplicates,
            corpus=self.corpus,
        )


def draw_queries(
    count: int, seed: int, progress: Progress = no_progress, *, corpus: Corpus | None = None
) -> Drawn:
    """Distinct questions of the corpus, without those that earlier query sets hold out of it.

    Query sets of a corpus that shares no source with this one hold out none of its pairs.

    The draw depends on the seed and the set of questions alone: each question has a number made
    of both, and the smallest numbers are drawn. All of them are read: nobody waits for it in a
    transaction. `progress` counts the questions.
    """
    if count < 1:
        raise UserError(f"A query set needs at least one query, not {count}.")
    held_out = Query.objects.filter(query_set__in=_drawing_on(corpus))
    taken = set(held_out.values_list("question_key", flat=True)) | _withdrawn_questions(corpus)
    free = (key for key in _questions(corpus, progress) if key not in taken)
    drawn = heapq.nsmallest(count, free, key=lambda key: _number(seed, key))
    if len(drawn) < count:
        where = f"corpus {corpus}" if corpus else "database"
        raise UserError(
            f"{count:,} queries were asked for, but the {where} holds only {len(drawn):,} "
            f"distinct questions that no earlier query set holds out: sample fewer or add "
            "pairs by `quorum corpus import`."
        )
    texts = _texts(drawn, corpus)
    if len(texts) < count:
        raise UserError(CHANGED)
    drafts = [Draft(query_key(key), texts[key], key) for key in drawn]
    return Drawn(drafts, QuerySet.Origin.SAMPLE, seed=seed, corpus=corpus)


def own_queries(path: Path, corpus: Corpus | None = None) -> Drawn:
    """The user's own queries from a .jsonl, .csv, .tsv or .txt file, or one of these as .gz.

    Columns: query (or question), and optional id. The first of several equal questions stays.
    A file with a row that cannot be used is refused: no query is lost in silence.
    """
    kept, duplicates = read_queries(path)
    return Drawn(kept, QuerySet.Origin.FILE, duplicates=duplicates, corpus=corpus)


def read_queries(path: Path) -> tuple[list[Draft], int]:
    """The queries of such a file, and how many rows repeated an earlier question."""
    drafts: dict[str, Draft] = {}
    faults = []
    rows = 0
    for row in read_rows(path, required=(QUERY,), plain_column="query"):
        rows += 1
        try:
            draft = read_draft(row)
            drafts.setdefault(draft.question_key, draft)
        except RowFault as fault:
            faults.append(f"line {row.line}: {fault}")
    repeated = [key for key, n in Counter(draft.key for draft in drafts.values()).items() if n > 1]
    faults += [f"two queries have the id {key}" for key in repeated]
    if faults:
        more = f" and {len(faults) - FAULTS_SHOWN:,} more" if len(faults) > FAULTS_SHOWN else ""
        raise UserError(
            f"No query set was made from {path}, {len(faults):,} of its {rows:,} rows cannot be "
            f"used: {'; '.join(faults[:FAULTS_SHOWN])}{more}; correct or remove them."
        )
    return list(drafts.values()), rows - len(drafts)


def sample_of(query_set: QuerySet, count: int, seed: int) -> list[Query]:
    """Some of its queries, drawn by the seed."""
    queries = query_set.queries.order_by("question_key")
    if not 1 <= count <= len(queries):
        raise UserError(
            f"{count:,} queries of {query_set} cannot be drawn: it has {len(queries):,}."
        )
    return heapq.nsmallest(count, queries, key=lambda query: _number(seed, query.question_key))


def save_drawn(
    name: str,
    origin: QuerySet.Origin,
    drawn_from: QuerySet,
    queries: Sequence[Query],
    seed: int,
) -> QuerySet:
    """The same queries once more, in this order, to judge others or some of their candidates."""
    drafts = [Draft(query.key, query.text, query.question_key) for query in queries]
    return _save(
        drafts,
        name=name,
        origin=origin,
        seed=seed,
        drawn_from=drawn_from,
        corpus=drawn_from.corpus,
    )


def queries_named(query_set: QuerySet, keys: Sequence[str]) -> list[Query]:
    """Those of its queries that have these ids; UserError where one is unknown."""
    parts = [query_set.queries.filter(key__in=some) for some in _lookups(sorted(set(keys)))]
    queries = [query for part in parts for query in part]
    if unknown := sorted(set(keys) - {query.key for query in queries}):
        more = ", ..." if len(unknown) > FAULTS_SHOWN else ""
        raise UserError(
            f"{query_set} has no queries {', '.join(unknown[:FAULTS_SHOWN])}{more}: name some of "
            f"its {query_set.queries.count():,} queries by their ids."
        )
    return queries


def read_ids(path: Path) -> list[str]:
    """Of queries, one a line; or in the column `id` of a csv, tsv or jsonl file."""
    ids = []
    for row in read_rows(path, required=(ID,), plain_column="id"):
        try:
            if row.fault:
                raise RowFault(row.fault)
            ids.append(text_field(row, ID, limit=MAX_ID))
        except RowFault as fault:
            raise UserError(
                f"Nothing was changed, line {row.line} of {path} names no query: {fault}; correct "
                "or remove it."
            ) from fault
    return ids


def take_out(whole: QuerySet, name: str, queries: Sequence[Query]) -> QuerySet:
    """Moves these of its queries, with their candidates, into a query set of their own.

    Inside a transaction of the caller's.
    """
    part = _save(
        [],
        name=name,
        origin=QuerySet.Origin(whole.origin),
        seed=whole.seed,
        corpus=whole.corpus,
    )
    part.part_of, part.retrieved_with, part.retrieval = whole, whole.retrieved_with, whole.retrieval
    part.save(update_fields=["part_of", "retrieved_with", "retrieval"])
    for some in _lookups([query.pk for query in queries]):
        Query.objects.filter(pk__in=some).update(query_set=part)
    for query_set in (whole, part):
        _number_again(query_set)
    return part


def read_draft(row: Row) -> Draft:
    """A query of a file; raises RowFault."""
    if row.fault:
        raise RowFault(row.fault)
    text = text_field(row, QUERY, limit=MAX_QUESTION)
    same_question = question_key(text)
    if same_question == NO_WORDS:
        raise RowFault("the query has only punctuation")
    key = optional_field(row, "id", limit=MAX_ID) or query_key(same_question)
    if not KEY.fullmatch(key):
        raise RowFault(
            f"the id {key[:60]!r} is not made of 1 to 40 letters, digits, dots, hyphens or "
            "underscores"
        )
    return Draft(key, text, same_question)


def _save(
    drafts: Sequence[Draft],
    *,
    name: str,
    origin: QuerySet.Origin,
    seed: int | None = None,
    duplicates: int = 0,
    drawn_from: QuerySet | None = None,
    corpus: Corpus | None = None,
) -> QuerySet:
    name = clean_text(name)
    if not 1 <= len(name) <= MAX_NAME:
        raise UserError(f"A query set needs a name of 1 to {MAX_NAME} characters, not {name!r}.")
    try:
        with transaction.atomic():
            query_set = QuerySet.objects.create(
                name=name,
                origin=origin,
                seed=seed,
                duplicates=duplicates,
                drawn_from=drawn_from,
                corpus=corpus,
            )
    except IntegrityError as taken:
        message = f"There is already a query set {name!r}: choose another name."
        raise UserError(message) from taken
    Query.objects.bulk_create(
        Query(
            query_set=query_set,
            key=draft.key,
            text=draft.text,
            question_key=draft.question_key,
            position=position,
        )
        for position, draft in enumerate(drafts, 1)
    )
    return query_set


def _number_again(query_set: QuerySet) -> None:
    """From 1 on without a gap, in the same order."""
    queries = list(query_set.queries.order_by("position").only("position"))
    if queries:
        # No two may have the same number, not even for a moment.
        query_set.queries.update(position=F("position") + queries[-1].position)
    for position, query in enumerate(queries, 1):
        query.position = position
    Query.objects.bulk_update(queries, ["position"], batch_size=BATCH)


def _drawing_on(corpus: Corpus | None) -> models.QuerySet[QuerySet]:
    """The query sets of corpora that have a source of this one."""
    if corpus is None:
        return QuerySet.objects.all()
    shared = Q(corpus__sources__source__in=sources_of(corpus))
    return QuerySet.objects.filter(Q(corpus=None) | Q(corpus=corpus) | shared)


def _questions(corpus: Corpus | None, progress: Progress) -> Iterator[str]:
    keys = pairs_of(corpus).order_by().values_list("question_key", flat=True).distinct()
    for number, key in enumerate(keys.iterator(chunk_size=LOOKUP), 1):
        if number % LOOKUP == 0:
            progress(LOOKUP)
        yield key


def _wait_for_other_samples() -> None:
    """Until they are written, and seen by the check. SQLite has one writer at a time anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('samples of held-out queries'))")


def _check_still_free(drafts: Sequence[Draft], corpus: Corpus | None) -> None:
    """Reading a large database takes a while, in which others draw as well."""
    keys = [draft.question_key for draft in drafts]
    held_out = Query.objects.filter(query_set__in=_drawing_on(corpus))
    if any(held_out.filter(question_key__in=some).exists() for some in _lookups(keys)):
        raise UserError(CHANGED)


def _withdrawn_questions(corpus: Corpus | None) -> set[str]:
    """Those of which every pair is withdrawn."""
    pairs = pairs_of(corpus).filter(withdrawn_at__isnull=False)
    living = pairs_of(corpus).filter(withdrawn_at=None, question_key=OuterRef("question_key"))
    return set(pairs.exclude(Exists(living)).values_list("question_key", flat=True))


def _texts(question_keys: Sequence[str], corpus: Corpus | None) -> dict[str, str]:
    """The commonest wording of each question; of equally common ones the first in order."""
    wordings: dict[str, Counter[str]] = defaultdict(Counter)
    for keys in _lookups(question_keys):
        copies = pairs_of(corpus).filter(question_key__in=keys, withdrawn_at=None)
        for key, text in copies.values_list("question_key", "question"):
            wordings[key][text] += 1
    return {
        key: min(counts, key=lambda text: (-counts[text], text)) for key, counts in wordings.items()
    }


def _lookups(keys: Sequence[Key]) -> Iterable[Sequence[Key]]:
    return (keys[start : start + LOOKUP] for start in range(0, len(keys), LOOKUP))


def _number(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"{seed} {key}".encode()).digest()


def query_key(key: str) -> str:
    return "q" + key[:15]
