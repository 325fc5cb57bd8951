"""Q/a pairs from a file into the database."""

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TextIO

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from retrieval.errors import UserError
from retrieval.models import QaPair
from retrieval.progress import Progress, no_progress
from retrieval.rows import Row, RowFault, optional_field, read_rows, text_field
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
    rejected: int
    rejects_path: Path | None


@dataclass
class Rejects:
    """Refused rows, one a line; the file takes its place only when it is complete."""

    path: Path
    count: int = 0
    first: str = ""
    _file: TextIO | None = field(default=None, repr=False)

    def add(self, row: Row, reason: str) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._unfinished.open("w", encoding="utf-8", errors="backslashreplace")
        entry = {"line": row.line, "reason": reason, "text": row.excerpt}
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self.first = self.first or f"line {row.line}: {reason}"
        self.count += 1

    @property
    def _unfinished(self) -> Path:
        return self.path.with_name(self.path.name + ".unfinished")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if error is not None:
            self._unfinished.unlink(missing_ok=True)
        elif self.count:
            os.replace(self._unfinished, self.path)
        else:
            self.path.unlink(missing_ok=True)


def ingest(
    path: Path, source: str, *, license: str = "", progress: Progress = no_progress
) -> IngestResult:
    """Add the file's pairs, all in one transaction; `progress` counts bytes of the file.

    A pair that is already there (under whatever id or source) is a duplicate. Unreadable rows go
    to a rejects file. A file of which no row can be used is refused.
    """
    source, license = check_source(source), check_license(license)
    rows = read_rows(path, required=(QUESTION, ANSWER), progress=progress)
    read = added = 0
    try:
        with Rejects(_rejects_path(path, source)) as rejects, transaction.atomic():
            for batch in batched(rows, BATCH):
                read += len(batch)
                pairs = _readable_pairs(batch, source, license, rejects)
                added += _add(pairs, source, rejects)
    except IntegrityError as error:
        raise UserError(
            f"Another ingest added pairs of {path} at the same time: run this one again."
        ) from error
    if rejects.count == read:
        raise UserError(
            f"Nothing was added: none of the {read:,} rows of {path} can be used; "
            f"{rejects.first} (all of them are in {rejects.path})."
        )
    duplicates = read - added - rejects.count
    return IngestResult(
        read, added, duplicates, rejects.count, rejects.path if rejects.count else None
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


def _rejects_path(path: Path, source: str) -> Path:
    digest = hashlib.sha256(f"{path.resolve()}\n{source}".encode(errors="surrogateescape"))
    name = os.fsencode(path.name).decode(errors="replace")  # it will be printed
    return Path(settings.DATA_DIR) / "rejects" / f"{name}.{digest.hexdigest()[:8]}.jsonl"


def _readable_pairs(
    batch: Sequence[Row], source: str, license: str, rejects: Rejects
) -> list[tuple[Row, Pair]]:
    pairs = []
    for row in batch:
        try:
            pairs.append((row, _pair(row, source, license)))
        except RowFault as fault:
            rejects.add(row, str(fault))
    return pairs


def _pair(row: Row, source: str, license: str) -> Pair:
    if row.fault:
        raise RowFault(row.fault)
    question = text_field(row, QUESTION, limit=MAX_QUESTION)
    answer = text_field(row, ANSWER, limit=MAX_ANSWER)
    same_question = question_key(question)
    if same_question == NO_WORDS:
        raise RowFault("the question is nothing but punctuation")
    key = pair_key(question, answer)
    return Pair(
        source=source,
        # Where the source gives none, the content is the id: the same file twice adds nothing.
        source_id=optional_field(row, "id", limit=MAX_ID) or key,
        question=question,
        answer=answer,
        license=optional_field(row, "license", limit=MAX_LICENSE) or license,
        question_key=same_question,
        pair_key=key,
    )


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
