"""Q/a pairs from a file into the database."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Q

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.corpus.pair_reader import Pair, Reading, check_license, check_source
from retrieval.corpus.rejected_rows import Place, Rejects, rejects_path
from retrieval.corpus.sources.formats import FORMATS
from retrieval.corpus.sources.top_share import KeptShare, Selection, TopShare
from retrieval.models import QaPair

NOT_BEST = "not among the best"


@dataclass(frozen=True)
class IngestResult:
    read: int
    added: int
    duplicates: int
    # Pairs among these that have been withdrawn, and stay so.
    withdrawn: int
    # Pairs among these that belong to another source, and stay in its corpora.
    elsewhere: int
    rejected: int
    first_rejected: str  # its line and the reason; empty where no row was rejected
    rejects_path: Path | None
    # Rows that hold no pair although nothing is wrong with them, by the reason.
    skipped: Mapping[str, int]
    best: KeptShare | None


def ingest(
    path: Path,
    source: str,
    *,
    license: str = "",
    format: str | None = None,
    best: TopShare | None = None,
    rejects: Rejects | None = None,
    conclude: Callable[[IngestResult], object] = lambda result: None,
    progress: Progress = no_progress,
) -> IngestResult:
    """Add the file's pairs, all in one transaction; `progress` counts bytes of the file.

    `format`: one of sources.FORMATS; None goes by the file's ending. With `best` the file is read
    twice. A pair that is already there (under whatever id or source) is a duplicate. Unreadable
    rows go to a rejects file, or to `rejects`. A file of which no row can be used is refused.
    `conclude` is called in the transaction, last.
    """
    license = license or (FORMATS[format].license if format else "")
    reading = Reading(path, check_source(source), check_license(license), format, best)
    try:
        with (
            reading.selection(progress) as selection,
            rejects or Rejects(rejects_path(path, reading.source)) as refused,
            transaction.atomic(),
        ):
            result = _ingest(reading, selection, refused, progress)
            if result.added or result.duplicates:
                conclude(result)
    except IntegrityError as error:
        raise UserError(
            f"Another ingest added pairs of {path} at the same time: run this one again."
        ) from error
    if not result.added and not result.duplicates:
        raise UserError(_nothing(path, result, refused.first))
    return result


def _ingest(
    reading: Reading, selection: Selection | None, rejects: Rejects, progress: Progress
) -> IngestResult:
    read = added = withdrawn = elsewhere = 0
    skipped: Counter[str] = Counter()
    for batch in reading.batches(progress):
        read += batch.rows
        skipped.update(batch.skipped)
        usable = batch.usable
        for refused in batch.refused:
            rejects.add(*refused)
        if selection:
            keeps = selection.keeps([pair.pair_key for _, pair in usable])
            usable = [one for one, kept in zip(usable, keeps, strict=True) if kept]
            skipped[NOT_BEST] += keeps.count(False)
        gone, others = _known(usable, reading.source)
        withdrawn, elsewhere = withdrawn + gone, elsewhere + others
        added += _add(usable, reading.source, rejects)
    skipped = +skipped
    return IngestResult(
        read,
        added,
        read - added - rejects.count - skipped.total(),
        withdrawn,
        elsewhere,
        rejects.count,
        rejects.first,
        rejects.path if rejects.count else None,
        dict(skipped.most_common()),
        selection.result if selection else None,
    )


def _nothing(path: Path, result: IngestResult, first: str) -> str:
    """`first`: what was wrong with the first row that was refused."""
    reasons = [f"{count:,}: {reason}" for reason, count in result.skipped.items()]
    if result.rejects_path:
        reasons.append(f"{first} (all of them are in {result.rejects_path})")
    return (
        f"Nothing was added: none of the {result.read:,} rows of {path} can be used; "
        f"{'; '.join(reasons)}."
    )


def _known(pairs: Sequence[tuple[Place, Pair]], source: str) -> tuple[int, int]:
    """How many of them are in the database and withdrawn; and how many are of another source."""
    known = QaPair.objects.filter(pair_key__in=[pair.pair_key for _, pair in pairs])
    others = Count("pk", filter=~Q(source=source))
    counts = known.aggregate(withdrawn=Count("withdrawn_at"), others=others)
    return counts["withdrawn"], counts["others"]


def _add(pairs: Sequence[tuple[Place, Pair]], source: str, rejects: Rejects) -> int:
    """Insert those that are new to the database and to the batch; returns their number."""
    keys = [pair.pair_key for _, pair in pairs]
    ids = [pair.source_id for _, pair in pairs]
    known = set(QaPair.objects.filter(pair_key__in=keys).values_list("pair_key", flat=True))
    same_ids = QaPair.objects.filter(source=source, source_id__in=ids)
    key_of_id = dict(same_ids.values_list("source_id", "pair_key"))
    new = []
    for place, pair in pairs:
        if key_of_id.get(pair.source_id, pair.pair_key) != pair.pair_key:
            reason = f"the id {pair.source_id!r} of {source} already belongs to another text"
            rejects.add(place, reason)
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
