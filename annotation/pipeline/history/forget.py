"""Delete what was imported: of one worker, or all of it."""

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from annotation.models import PastRecord, Worker
from annotation.pipeline.history.import_history import ROWS, wait_for_others
from annotation.pipeline.history.records import MTURK, TURKLE, Kind

# What other tables say of a worker who was not only imported.
KNOWN_HERE = ("assignments", "exclusions", "qualification_results", "outbox")


def past_of(worker: str | None) -> QuerySet[PastRecord]:
    """By the worker's ID, wherever they worked; None: everything."""
    if worker is None:
        return PastRecord.objects.all()
    return PastRecord.objects.filter(
        Q(worker__worker_id=worker) | Q(part_of__worker__worker_id=worker)
    )


def counts(records: QuerySet[PastRecord]) -> dict[str, int]:
    """By kind."""
    rows = records.order_by().values_list("kind").annotate(Count("pk"))
    return dict(sorted(rows))


@transaction.atomic
def forget(worker: str | None) -> dict[str, int]:
    """The records, and the worker where nothing else is known of them; how many of each kind."""
    wait_for_others()
    records = past_of(worker)
    forgotten = counts(records)
    for kind in reversed(Kind):  # what is part of others goes first
        _delete(records.filter(kind=kind))
    workers = Worker.objects.filter(crowd__in=(MTURK, TURKLE), past=None)
    if worker is not None:
        workers = workers.filter(worker_id=worker)
    workers.filter(**dict.fromkeys(KNOWN_HERE)).delete()
    return forgotten


def _delete(records: QuerySet[PastRecord]) -> None:
    """In little memory, however many they are."""
    while some := list(records.values_list("pk", flat=True)[:ROWS]):
        PastRecord.objects.filter(pk__in=some).delete()
