"""Put what files say into the past records: in any order and as often as one likes, it is the same.

A record holds all values that files gave, and everything else of it follows from these.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from django.db import connection, transaction

from annotation.models import PastRecord, Worker
from annotation.pipeline.history.read import is_json, read_history
from annotation.pipeline.history.records import BLOCK, Kind, Record, moment_of
from core.progress import Progress, no_progress
from core.text.clean import in_utf8

ROWS = 500  # stored at a time
MOST_FAULTS = 20  # of a file, that are told with their lines
LONGEST = 255
Status = PastRecord.Status
Model = TypeVar("Model", Worker, PastRecord)
Name = tuple[str, str]  # crowd and key
Values = Mapping[str, list[str]]


@dataclass
class Imported:
    rows: int = 0
    new: dict[str, int] = field(default_factory=dict)  # by kind of record
    changed: dict[str, int] = field(default_factory=dict)
    faulty: int = 0
    faults: list[str] = field(default_factory=list)  # of the first


@transaction.atomic
def import_history(path: Path, progress: Progress = no_progress) -> Imported:
    """All of a file or nothing. UserError where it holds no history."""
    wait_for_others()
    imported = Imported()
    rows = _good(path, imported, progress)
    while some := [record for split in islice(rows, ROWS) for record in split]:
        _store(some, imported)
    return imported


def _good(path: Path, imported: Imported, progress: Progress) -> Iterator[Iterable[Record]]:
    unit = "Record" if is_json(path) else "Line"
    for row, split in read_history(path, progress):
        imported.rows += 1
        if not row.fault:
            yield split
            continue
        imported.faulty += 1
        if len(imported.faults) < MOST_FAULTS:
            imported.faults.append(in_utf8(f"{unit} {row.line:,} of {path}: {row.fault}."))


def wait_for_others() -> None:
    """Until what they add is there to be added to. SQLite has one writer at a time anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('imports of a history'))")


def _store(records: Sequence[Record], imported: Imported) -> None:
    by_kind: dict[Kind, dict[Name, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        by_kind[record.kind][record.crowd, record.key].append(record)
    workers = _workers({(one.crowd, one.worker) for one in records if one.worker})
    stored: dict[Name, PastRecord] = {}
    for kind in (kind for kind in Kind if kind in by_kind):  # what others are part of comes first
        stored = _store_kind(kind, by_kind[kind], workers, stored, imported)


def _workers(names: set[Name]) -> dict[Name, Worker]:
    wanted = [Worker(crowd=crowd, worker_id=name) for crowd, name in sorted(names)]
    Worker.objects.bulk_create(wanted, ignore_conflicts=True)
    crowds, ids = {crowd for crowd, _ in names}, [name for _, name in names]
    known = Worker.objects.filter(crowd__in=crowds, worker_id__in=ids)
    return {(one.crowd, one.worker_id): one for one in known}


def _store_kind(
    kind: Kind,
    given: Mapping[Name, list[Record]],
    workers: Mapping[Name, Worker],
    wholes: Mapping[Name, PastRecord],
    imported: Imported,
) -> dict[Name, PastRecord]:
    crowds, keys = {crowd for crowd, _ in given}, [key for _, key in given]
    there = PastRecord.objects.filter(crowd__in=crowds, kind=kind, key__in=keys)
    there = there.select_related("worker", "part_of").defer("part_of__fields")
    known = {(one.crowd, one.key): one for one in there}
    stored, changed = {}, []
    for name, records in given.items():
        old = known.get(name)
        new = _with(old, records, workers, wholes)
        if old and (new.fields, new.worker, new.part_of) == (old.fields, old.worker, old.part_of):
            stored[name] = old
            continue
        stored[name] = new
        changed.append(new)
        counts = imported.changed if old else imported.new
        counts[kind] = counts.get(kind, 0) + 1
    PastRecord.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["crowd", "kind", "key"],
        update_fields=["worker", "part_of", "title", "batch", "status", "cents", "at", "fields"],
    )
    return stored


def _greatest(models: Iterable[Model | None], field: str) -> Model | None:
    return max(filter(None, models), key=attrgetter(field), default=None)


def _with(
    old: PastRecord | None,
    records: Sequence[Record],
    workers: Mapping[Name, Worker],
    wholes: Mapping[Name, PastRecord],
) -> PastRecord:
    """Where files contradict each other, the greatest wins: their order is not to matter."""
    record = records[0]
    given = [{name: [value] for name, value in one.fields.items()} for one in records]
    fields = _union([old.fields if old else {}, *given])
    of_worker = [old and old.worker, *(workers.get((one.crowd, one.worker)) for one in records)]
    of_whole = [old and old.part_of, *(wholes.get((one.crowd, one.part_of)) for one in records)]
    return PastRecord(
        kind=record.kind,
        crowd=record.crowd,
        key=record.key,
        worker=_greatest(of_worker, "worker_id"),
        part_of=_greatest(of_whole, "key"),
        fields=fields,
        title=_text(fields, "Title", "Name"),
        batch=_text(fields, "RequesterAnnotation"),
        status=_status(fields),
        cents=max(map(_cents, _values(fields, "Reward", "BonusAmount")), default=None),
        at=max(_moments(fields), default=None),
    )


def _union(parts: Iterable[Values]) -> dict[str, list[str]]:
    values: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        for name, some in part.items():
            values[name].update(some)
    return {name: sorted(values[name]) for name in sorted(values)}


def _values(fields: Values, *names: str) -> list[str]:
    return [value for name in names for value in fields.get(name, [])]


def _text(fields: Values, *names: str) -> str:
    return max(_values(fields, *names), default="")[:LONGEST]


def _cents(dollars: str) -> int:
    return int(dollars.replace(".", ""))


def _moments(fields: Values) -> Iterator[datetime]:
    """What could be read as a time stands there in this form."""
    for value in _values(fields, "SubmitTime", "GrantTime", "CreationTime"):
        if moment := moment_of(value):
            yield moment


def _status(fields: Values) -> str:
    said = {value.casefold() for value in _values(fields, "AssignmentStatus")}
    followed = [status for status in Status if status in said]
    blocks = {value.casefold() for name in fields if _is_block(name) for value in fields[name]}
    return Status.BLOCKED if "blocked" in blocks else followed[-1] if followed else ""


def _is_block(name: str) -> bool:
    return name.casefold().replace(" ", "") == BLOCK.casefold().replace(" ", "")
