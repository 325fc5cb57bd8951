"""Q/a pairs from a file into the database."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from retrieval.errors import UserError
from retrieval.models import QaPair
from retrieval.progress import Progress, no_progress
from retrieval.rejects import Rejects, rejects_path
from retrieval.rows import Row, RowFault, number_field, optional_field, text_field
from retrieval.sources.best import Best, Kept, Selection, selection
from retrieval.sources.formats import FORMATS, read_source
from retrieval.text import clean_text, is_utf8, pair_key, question_key

MAX_QUESTION = 10_000
MAX_ANSWER = 50_000
MAX_SOURCE = 100
MAX_ID = 200
MAX_LICENSE = 300
BATCH = 2_000
QUESTION = ("question",)
ANSWER = ("answer",)
NO_WORDS = question_key("")
NOT_BEST = "not among the best"


class Pair(NamedTuple):
    """A row of QaPair's table; the fields are its columns."""

    source: str
    source_id: str
    question: str
    answer: str
    license: str
    question_key: str
    pair_key: str


@dataclass(frozen=True)
class IngestResult:
    read: int
    added: int
    duplicates: int
    # Pairs among these that have been withdrawn, and stay so.
    withdrawn: int
    rejected: int
    rejects_path: Path | None
    # Rows that hold no pair although nothing is wrong with them, by the reason.
    skipped: Mapping[str, int]
    best: Kept | None


@dataclass(frozen=True)
class Reading:
    """A file with what its rows are read as."""

    path: Path
    source: str
    license: str
    format: str | None
    best: Best | None

    def batches(self, progress: Progress) -> Iterator[list[Row]]:
        return batched(read_source(self.path, self.format, progress), BATCH)

    def usable(
        self, batch: Sequence[Row], refuse: Callable[[Row, str], object]
    ) -> list[tuple[Row, Pair]]:
        pairs = []
        for row in batch:
            try:
                if not row.skip:
                    pairs.append((row, self._pair(row)))
            except RowFault as fault:
                refuse(row, str(fault))
        return pairs

    def _pair(self, row: Row) -> Pair:
        if row.fault:
            raise RowFault(row.fault)
        question = text_field(row, QUESTION, limit=MAX_QUESTION)
        answer = text_field(row, ANSWER, limit=MAX_ANSWER)
        same_question = question_key(question)
        if same_question == NO_WORDS:
            raise RowFault("the question is nothing but punctuation")
        if self.best and self.best.field:
            number_field(row, self.best.field)
        key = pair_key(question, answer)
        return Pair(
            source=self.source,
            # Where the source gives none, the content is the id: the same file twice adds nothing.
            source_id=optional_field(row, "id", limit=MAX_ID) or key,
            question=question,
            answer=answer,
            license=optional_field(row, "license", limit=MAX_LICENSE) or self.license,
            question_key=same_question,
            pair_key=key,
        )

    @contextmanager
    def selection(self, progress: Progress) -> Iterator[Selection | None]:
        if self.best is None:
            yield None
            return
        folder = Path(settings.DATA_DIR)
        scored = self._scored(self.best, progress)
        with selection(scored, path=self.path, share=self.best.share, folder=folder) as chosen:
            yield chosen

    def _scored(
        self, best: Best, progress: Progress
    ) -> Iterator[tuple[Sequence[float], Sequence[str]]]:
        for batch in self.batches(progress):
            usable = self.usable(batch, lambda row, reason: None)  # told in the second reading
            if best.scorer:
                texts = [(pair.question, pair.answer) for _, pair in usable]
                scores: Sequence[float] = best.scorer.scores(texts).tolist() if texts else []
            else:
                scores = [number_field(row, best.field) for row, _ in usable]
            yield scores, [pair.pair_key for _, pair in usable]


def ingest(
    path: Path,
    source: str,
    *,
    license: str = "",
    format: str | None = None,
    best: Best | None = None,
    progress: Progress = no_progress,
) -> IngestResult:
    """Add the file's pairs, all in one transaction; `progress` counts bytes of the file.

    `format`: one of sources.FORMATS; None goes by the file's ending. With `best` the file is read
    twice. A pair that is already there (under whatever id or source) is a duplicate. Unreadable
    rows go to a rejects file. A file of which no row can be used is refused.
    """
    license = license or (FORMATS[format].license if format else "")
    reading = Reading(path, check_source(source), check_license(license), format, best)
    try:
        with (
            reading.selection(progress) as selection,
            Rejects(rejects_path(path, reading.source)) as rejects,
            transaction.atomic(),
        ):
            return _ingest(reading, selection, rejects, progress)
    except IntegrityError as error:
        raise UserError(
            f"Another ingest added pairs of {path} at the same time: run this one again."
        ) from error


def _ingest(
    reading: Reading, selection: Selection | None, rejects: Rejects, progress: Progress
) -> IngestResult:
    read = added = withdrawn = 0
    skipped: Counter[str] = Counter()
    for batch in reading.batches(progress):
        read += len(batch)
        skipped.update(row.skip for row in batch if row.skip)
        usable = reading.usable(batch, rejects.add)
        if selection:
            keeps = selection.keeps([pair.pair_key for _, pair in usable])
            usable = [one for one, kept in zip(usable, keeps, strict=True) if kept]
            skipped[NOT_BEST] += keeps.count(False)
        withdrawn += _withdrawn(usable)
        added += _add(usable, reading.source, rejects)
    skipped = +skipped
    duplicates = read - added - rejects.count - skipped.total()
    if not added and not duplicates:
        raise UserError(_nothing(reading.path, read, rejects, skipped))
    return IngestResult(
        read,
        added,
        duplicates,
        withdrawn,
        rejects.count,
        rejects.path if rejects.count else None,
        dict(skipped.most_common()),
        selection.result if selection else None,
    )


def _nothing(path: Path, read: int, rejects: Rejects, skipped: Counter[str]) -> str:
    reasons = [f"{count:,}: {reason}" for reason, count in skipped.most_common()]
    if rejects.count:
        reasons.append(f"{rejects.first} (all of them are in {rejects.path})")
    return (
        f"Nothing was added: none of the {read:,} rows of {path} can be used; {'; '.join(reasons)}."
    )


def batched(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, size)):
        yield batch


def check_license(license: str) -> str:
    """Cleaned; UserError where it cannot be stored."""
    if len(license) > MAX_LICENSE or not is_utf8(license):
        raise UserError(f"The license must have at most {MAX_LICENSE} characters, in UTF-8.")
    return clean_text(license)


def check_source(source: str) -> str:
    """Cleaned; UserError where it cannot be stored."""
    name = clean_text(source)
    if not name or len(name) > MAX_SOURCE or not is_utf8(name):
        raise UserError(
            f"The source needs a name of 1 to {MAX_SOURCE} characters in UTF-8, not {name!r}."
        )
    return name


def _withdrawn(pairs: Sequence[tuple[Row, Pair]]) -> int:
    """How many of them are in the database and withdrawn."""
    known = QaPair.objects.filter(pair_key__in=[pair.pair_key for _, pair in pairs])
    return known.filter(withdrawn_at__isnull=False).count()


def _add(pairs: Sequence[tuple[Row, Pair]], source: str, rejects: Rejects) -> int:
    """Insert those that are new to the database and to the batch; returns their number."""
    keys = [pair.pair_key for _, pair in pairs]
    ids = [pair.source_id for _, pair in pairs]
    known = set(QaPair.objects.filter(pair_key__in=keys).values_list("pair_key", flat=True))
    same_ids = QaPair.objects.filter(source=source, source_id__in=ids)
    key_of_id = dict(same_ids.values_list("source_id", "pair_key"))
    new = []
    for row, pair in pairs:
        if key_of_id.get(pair.source_id, pair.pair_key) != pair.pair_key:
            reason = f"the id {pair.source_id!r} of {source} already stands for another text"
            rejects.add(row, reason)
        elif pair.pair_key not in known:
            known.add(pair.pair_key)
            key_of_id[pair.source_id] = pair.pair_key
            new.append(pair)
    insert_pairs(new)
    return len(new)


def insert_pairs(pairs: Sequence[Pair]) -> None:
    """One statement a batch, on SQLite and PostgreSQL alike.

    bulk_create takes three times as long: it prepares every field of every row, 124 rows a time.
    """
    if not pairs:
        return
    row = f"({', '.join(['%s'] * len(Pair._fields))})"
    statement = (
        f"INSERT INTO {QaPair._meta.db_table} ({', '.join(Pair._fields)}) "  # noqa: S608 our names
        f"VALUES {', '.join([row] * len(pairs))}"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, list(itertools.chain.from_iterable(pairs)))
