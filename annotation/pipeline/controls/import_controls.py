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
from core.files.rows import Row, RowFault, read_rows, text_field

SHIPPED = Path(__file__).with_name("positive.jsonl")
COLUMNS = (("query",), ("question",), ("answer",))


@dataclass(frozen=True)
class Imported:
    read: int
    added: int
    pool: int


@transaction.atomic
def import_controls(path: Path = SHIPPED) -> Imported:
    """Add what is not there yet; one bad row refuses the file, since each stands for the truth.

    What somebody has retired does not come back by a file.
    """
    rows = _read(path)
    controls = {control.key: control for control in rows}
    while (added := _add(controls)) is None:
        pass  # others have added some of them meanwhile, which are known now
    pool = Control.objects.filter(campaign=None, retired_at=None)
    return Imported(read=len(rows), added=added, pool=pool.count())


def _add(controls: Mapping[str, Control]) -> int | None:
    """How many are new; None, and nothing is added, where somebody adds the same at this moment."""
    known = set(Control.objects.filter(campaign=None).values_list("key", flat=True))
    # In one order: of two files in other orders, each would wait for a row of the other.
    new = [controls[key] for key in sorted(controls.keys() - known)]
    try:
        with transaction.atomic():
            Control.objects.bulk_create(new)
    except IntegrityError:
        return None
    return len(new)


def _read(path: Path) -> list[Control]:
    """BadRows names every row that is none."""
    controls: list[Control] = []
    rejected: list[Rejected] = []
    for row in read_rows(path, required=COLUMNS):
        try:
            controls.append(_control(row))
        except (RowFault, UnfitTexts) as fault:
            rejected.append(Rejected(row.line, str(fault), row.excerpt))
    if rejected:
        raise BadRows(path, rejected)
    return controls


def _control(row: Row) -> Control:
    if row.fault:
        raise RowFault(row.fault)
    texts = Texts(*(text_field(row, column, limit=MOST_CHARACTERS) for column in COLUMNS))
    check_texts(texts)
    return positive(texts)
