"""Add positive controls to the pool that all campaigns share."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.db import IntegrityError, transaction

from annotation.models import Control
from annotation.pipeline.controls.controls import (
    MOST_CHARACTERS,
    Texts,
    UnfitTexts,
    check_texts,
    positive,
)
from annotation.pipeline.gold.rejected_rows import BadRows, Rejected
from annotation.protocol.policy.tasks import PAPER_TASK, TaskType
from core.files.rows import Row, RowFault, read_rows, text_field

SHIPPED = Path(__file__).with_name("positive.jsonl")
QUERY, QUESTION, ANSWER = COLUMNS = (("query",), ("question",), ("answer",))


@dataclass(frozen=True)
class Imported:
    read: int
    added: int
    pool: int


@transaction.atomic
def import_controls(path: Path = SHIPPED, task: TaskType = PAPER_TASK) -> Imported:
    """Add what is not there yet; one bad row refuses the file, since each stands for the truth.

    What somebody has retired does not come back by a file.
    """
    rows = _read(path, task)
    controls = {control.key: control for control in rows}
    while (added := _add(controls, task)) is None:
        pass  # others have added some of them meanwhile, which are known now
    pool = Control.objects.filter(campaign=None, task=task.name, retired_at=None)
    return Imported(read=len(rows), added=added, pool=pool.count())


def _add(controls: Mapping[str, Control], task: TaskType) -> int | None:
    """How many are new; None, and nothing is added, where somebody adds the same at this moment."""
    pool = Control.objects.filter(campaign=None, task=task.name)
    known = set(pool.values_list("key", flat=True))
    # In one order: of two files in other orders, each would wait for a row of the other.
    new = [controls[key] for key in sorted(controls.keys() - known)]
    try:
        with transaction.atomic():
            Control.objects.bulk_create(new)
    except IntegrityError:
        return None
    return len(new)


def _read(path: Path, task: TaskType) -> list[Control]:
    """BadRows names every row that is none."""
    controls: list[Control] = []
    rejected: list[Rejected] = []
    for row in read_rows(path, required=COLUMNS if task.shows_question else (QUERY, ANSWER)):
        try:
            controls.append(_control(row, task))
        except (RowFault, UnfitTexts) as fault:
            rejected.append(Rejected(row.line, str(fault), row.excerpt))
    if rejected:
        raise BadRows(path, rejected)
    return controls


def _control(row: Row, task: TaskType) -> Control:
    """What is not shown is not read: there, the query stands for the pair's own question."""
    if row.fault:
        raise RowFault(row.fault)
    columns = (QUERY, QUESTION if task.shows_question else QUERY, ANSWER)
    texts = Texts(*(text_field(row, column, limit=MOST_CHARACTERS) for column in columns))
    check_texts(texts, task)
    return positive(texts, task)
