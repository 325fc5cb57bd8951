"""Labelled datasets: queries with the candidates and labels that they came with.

A line is a query, as in a release: {"query" (or "question"), "candidates": [{"question" (or
"text"), "answer", "label"}, ...]}, with an optional "id", and of each candidate "rank" and
"score", and "found_by" as a release of several retrievers has it. A label is 1, 0, or null: not
judged yet.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError
from core.files.rows import Row, RowFault, read_rows, text_field
from core.progress import Progress
from core.text.clean import pair_key, question_key
from retrieval.corpus.ingest import insert_pairs
from retrieval.corpus.pair_reader import MAX_ANSWER, MAX_QUESTION, Pair
from retrieval.models import Candidate, QaPair, Query, QuerySet
from retrieval.query_sets.held_out import QUERY, read_draft
from retrieval.ranking.fusion import RETRIEVERS

QUERIES_PER_STEP = 200
LOOKUP = 10_000  # keys in one database query
MOST_CANDIDATES = 1000
DEEPEST = 10_000  # rank in one retriever
FAULTS_SHOWN = 3
QUESTION = ("question", "text")
ANSWER = ("answer",)
# What the files of a split are called.
SPLITS = {"train": "train", "dev": "dev", "valid": "dev", "validation": "dev", "test": "test"}


class LabelledCandidate(NamedTuple):
    pair: Pair
    rank: int
    score: float | None
    found_by: Mapping[str, int] | None
    label: int | None


@dataclass(frozen=True)
class LabelledQuery:
    key: str
    text: str
    question_key: str
    split: str
    candidates: Sequence[LabelledCandidate]


@dataclass
class Faults:
    """Lines that cannot be used."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, path: Path, line: int, fault: RowFault) -> None:
        self.count += 1
        if len(self.first) < FAULTS_SHOWN:
            self.first.append(f"line {line} of {path}: {fault}")

    def in_words(self) -> str:
        more = self.count - len(self.first)
        return "; ".join(self.first) + (f" and {more:,} more" if more else "")


class CandidateLabel(NamedTuple):
    candidate: int  # primary key
    label: int | None


def read_dataset(
    paths: Sequence[Path], source: str, *, license: str, faults: Faults, progress: Progress
) -> Iterator[LabelledQuery]:
    """The usable lines of all files; the others go to `faults`. `progress` counts bytes."""
    texts: dict[str, str] = {}
    keys: dict[str, str] = {}
    for path in paths:
        _check_kind(path)
        for row in read_rows(path, required=(QUERY,), progress=progress):
            try:
                query = _query(row, source, license, _split_of(path))
                _check_new(query.question_key, texts, "the query is also in")
                _check_new(query.key, keys, f"the id {query.key} is also in")
            except RowFault as fault:
                faults.add(path, row.line, fault)
            else:
                texts[query.question_key] = keys[query.key] = f"line {row.line} of {path}"
                yield query


def store_dataset(
    query_set: QuerySet, queries: Iterator[LabelledQuery]
) -> Iterator[list[CandidateLabel]]:
    """Stores some queries at a time, and yields the labels of their candidates."""
    position = 0
    finders: set[str] = set()
    while some := list(islice(queries, QUERIES_PER_STEP)):
        pairs = _stored_pairs(some)
        stored = Query.objects.bulk_create(
            Query(
                query_set=query_set,
                key=query.key,
                text=query.text,
                question_key=query.question_key,
                position=number,
                split=query.split,
            )
            for number, query in enumerate(some, start=position + 1)
        )
        position += len(some)
        both = [
            (
                Candidate(
                    query=row,
                    pair_id=pairs[made.pair.pair_key],
                    rank=made.rank,
                    score=made.score,
                    found_by=made.found_by,
                ),
                made,
            )
            for row, query in zip(stored, some, strict=True)
            for made in query.candidates
        ]
        Candidate.objects.bulk_create([candidate for candidate, _ in both])
        finders.update(name for _, made in both for name in made.found_by or ())
        yield [CandidateLabel(candidate.pk, made.label) for candidate, made in both]
    if finders:
        query_set.retrieval = {"retrievers": [name for name in RETRIEVERS if name in finders]}
        query_set.save(update_fields=["retrieval"])


def _check_kind(path: Path) -> None:
    if not path.name.lower().removesuffix(".gz").endswith(".jsonl"):
        raise UserError(f"{path} is not a .jsonl or .jsonl.gz file: save it as one.")


def _split_of(path: Path) -> str:
    return SPLITS.get(path.name.lower().removesuffix(".gz").removesuffix(".jsonl"), "")


def _check_new(key: str, places: Mapping[str, str], fault: str) -> None:
    if key in places:
        raise RowFault(f"{fault} {places[key]}")


def _query(row: Row, source: str, license: str, split: str) -> LabelledQuery:
    draft = read_draft(row)
    candidates = _candidates(row, source, license)
    return LabelledQuery(draft.key, draft.text, draft.question_key, split, candidates)


def _candidates(row: Row, source: str, license: str) -> list[LabelledCandidate]:
    given = row.fields.get("candidates")
    if not isinstance(given, list) or not given:
        raise RowFault("the list of candidates is missing")
    if len(given) > MOST_CANDIDATES:
        raise RowFault(f"there are {len(given):,} candidates, more than {MOST_CANDIDATES:,}")
    candidates = []
    for number, values in enumerate(given, start=1):
        try:
            if not isinstance(values, dict):
                raise RowFault("it is no object")
            candidates.append(_candidate(Row(row.line, values), number, source, license))
        except RowFault as fault:
            raise RowFault(f"candidate {number}: {fault}") from fault
    _check_distinct(candidates)
    return sorted(candidates, key=lambda candidate: candidate.rank)


def _candidate(row: Row, number: int, source: str, license: str) -> LabelledCandidate:
    question = text_field(row, QUESTION, limit=MAX_QUESTION)
    answer = text_field(row, ANSWER, limit=MAX_ANSWER)
    key = pair_key(question, answer)
    pair = Pair(source, key, question, answer, license, question_key(question), key)
    return LabelledCandidate(pair, _rank(row, number), _score(row), _found_by(row), _label(row))


def _check_distinct(candidates: Sequence[LabelledCandidate]) -> None:
    ranks: dict[int, int] = {}
    pairs: dict[str, int] = {}
    for number, candidate in enumerate(candidates, start=1):
        if (other := ranks.setdefault(candidate.rank, number)) != number:
            raise RowFault(f"candidates {other} and {number} both have rank {candidate.rank}")
        if (other := pairs.setdefault(candidate.pair.pair_key, number)) != number:
            raise RowFault(f"candidates {other} and {number} are the same question and answer")


def _rank(row: Row, number: int) -> int:
    rank = row.fields.get("rank")
    if rank is None:
        return number
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MOST_CANDIDATES:
        raise RowFault(f"the rank must be a whole number from 1 to {MOST_CANDIDATES}")
    return rank


def _score(row: Row) -> float | None:
    """A cosine; any other score says nothing beside those of a retriever of ours."""
    score = row.fields.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not -1 <= score <= 1:
        return None
    return round(float(score), 6)


def _found_by(row: Row) -> dict[str, int] | None:
    """Ranks by our retrievers' names, as a release has them; anything else says nothing to us."""
    given = row.fields.get("found_by")
    if not isinstance(given, dict) or not given or not given.keys() <= set(RETRIEVERS):
        return None
    if any(type(rank) is not int or not 1 <= rank <= DEEPEST for rank in given.values()):
        return None
    return {name: given[name] for name in RETRIEVERS if name in given}


def _label(row: Row) -> int | None:
    if "label" not in row.fields:  # else a column of another name would come as if unlabelled
        raise RowFault("the label is missing: write 1, 0, or null if unknown")
    label = row.fields["label"]
    if label is None:
        return None
    if isinstance(label, str | int | float) and label in (0, 1, "0", "1"):
        return int(label)
    raise RowFault(f"the label must be 1, 0 or null, not {str(label)[:40]!r}")


def _stored_pairs(queries: Sequence[LabelledQuery]) -> dict[str, int]:
    """Pair key -> primary key; those that the database lacks are added."""
    wanted = {c.pair.pair_key: c.pair for query in queries for c in query.candidates}
    known = _primary_keys(list(wanted))
    insert_pairs([pair for key, pair in wanted.items() if key not in known])
    return _primary_keys(list(wanted))


def _primary_keys(keys: Sequence[str]) -> dict[str, int]:
    pk_of: dict[str, int] = {}
    for start in range(0, len(keys), LOOKUP):
        rows = QaPair.objects.filter(pair_key__in=keys[start : start + LOOKUP])
        pk_of.update(rows.values_list("pair_key", "pk"))
    return pk_of
