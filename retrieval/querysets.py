"""Held-out queries: sampled from the database, or the user's own."""

import hashlib
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import Exists, OuterRef

from retrieval.errors import UserError
from retrieval.models import QaPair, Query, QuerySet
from retrieval.reading import MAX_ID, MAX_QUESTION
from retrieval.rows import Row, RowFault, optional_field, read_rows, text_field
from retrieval.text import clean_text, question_key

MAX_NAME = 100
LOOKUP = 10_000  # keys in one database query
QUERY = ("query", "question")
NO_WORDS = question_key("")
KEY = re.compile(r"[A-Za-z0-9._-]{1,40}")
FAULTS_SHOWN = 3


@dataclass(frozen=True)
class Draft:
    key: str
    text: str
    question_key: str


def sample_queries(name: str, count: int, seed: int) -> QuerySet:
    """Distinct questions of the database, without those that earlier query sets hold out.

    The draw depends on the seed and the set of questions alone: each question has a number made
    of both, and the smallest numbers are drawn.
    """
    if count < 1:
        raise UserError(f"A query set needs at least one query, not {count}.")
    with transaction.atomic():
        taken = set(Query.objects.values_list("question_key", flat=True)) | _withdrawn_questions()
        distinct = QaPair.objects.values_list("question_key", flat=True).distinct()
        free = [key for key in distinct.iterator() if key not in taken]
        if len(free) < count:
            raise UserError(
                f"{count:,} queries were asked for, but the database holds only {len(free):,} "
                f"distinct questions that no earlier query set holds out: sample fewer or add "
                "pairs by `manage.py ingest`."
            )
        drawn = heapq.nsmallest(count, free, key=lambda key: _number(seed, key))
        texts = _texts(drawn)
        drafts = [Draft(query_key(key), texts[key], key) for key in drawn]
        return _save(drafts, name=name, origin=QuerySet.Origin.SAMPLE, seed=seed)


def load_queries(name: str, path: Path) -> QuerySet:
    """The user's own queries from a .jsonl, .csv, .tsv or .txt file, or one of these as .gz.

    Columns: query (or question), and optional id. The first of several equal questions stays.
    A file with a row that cannot be used is refused: no query is lost in silence.
    """
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
    faults += [f"the id {key} stands for two queries" for key in repeated]
    if faults:
        more = f" and {len(faults) - FAULTS_SHOWN:,} more" if len(faults) > FAULTS_SHOWN else ""
        raise UserError(
            f"No query set was made from {path}, {len(faults):,} of its {rows:,} rows cannot be "
            f"used: {'; '.join(faults[:FAULTS_SHOWN])}{more}; correct or remove them."
        )
    kept = list(drafts.values())
    with transaction.atomic():
        return _save(kept, name=name, origin=QuerySet.Origin.FILE, duplicates=rows - len(kept))


def drawn_again(query_set: QuerySet, count: int, seed: int) -> list[Query]:
    """Some of its queries, drawn by the seed."""
    queries = query_set.queries.order_by("question_key")
    if not 1 <= count <= len(queries):
        raise UserError(
            f"{count:,} queries of {query_set} cannot be drawn: it has {len(queries):,}."
        )
    return heapq.nsmallest(count, queries, key=lambda query: _number(seed, query.question_key))


def save_audit(name: str, audited: QuerySet, queries: Sequence[Query], seed: int) -> QuerySet:
    """The same queries once more, in this order, to be looked at again."""
    drafts = [Draft(query.key, query.text, query.question_key) for query in queries]
    return _save(drafts, name=name, origin=QuerySet.Origin.AUDIT, seed=seed, audits=audited)


def read_draft(row: Row) -> Draft:
    """A query of a file; raises RowFault."""
    if row.fault:
        raise RowFault(row.fault)
    text = text_field(row, QUERY, limit=MAX_QUESTION)
    same_question = question_key(text)
    if same_question == NO_WORDS:
        raise RowFault("the query is nothing but punctuation")
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
    audits: QuerySet | None = None,
) -> QuerySet:
    name = clean_text(name)
    if not 1 <= len(name) <= MAX_NAME:
        raise UserError(f"A query set needs a name of 1 to {MAX_NAME} characters, not {name!r}.")
    if QuerySet.objects.filter(name=name).exists():
        raise UserError(f"There is already a query set {name!r}: choose another name.")
    query_set = QuerySet.objects.create(
        name=name, origin=origin, seed=seed, duplicates=duplicates, audits=audits
    )
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


def _withdrawn_questions() -> set[str]:
    """Those of which every pair is withdrawn."""
    pairs = QaPair.objects.filter(withdrawn_at__isnull=False)
    living = QaPair.objects.filter(withdrawn_at=None, question_key=OuterRef("question_key"))
    return set(pairs.exclude(Exists(living)).values_list("question_key", flat=True))


def _texts(question_keys: Sequence[str]) -> dict[str, str]:
    """The commonest wording of each question; of equally common ones the first in order."""
    wordings: dict[str, Counter[str]] = defaultdict(Counter)
    for keys in _lookups(question_keys):
        copies = QaPair.objects.filter(question_key__in=keys, withdrawn_at=None)
        for key, text in copies.values_list("question_key", "question"):
            wordings[key][text] += 1
    return {
        key: min(counts, key=lambda text: (-counts[text], text)) for key, counts in wordings.items()
    }


def _lookups(keys: Sequence[str]) -> Iterable[Sequence[str]]:
    return (keys[start : start + LOOKUP] for start in range(0, len(keys), LOOKUP))


def _number(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"{seed} {key}".encode()).digest()


def query_key(key: str) -> str:
    return "q" + key[:15]
