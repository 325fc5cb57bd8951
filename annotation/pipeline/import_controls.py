"""Add positive controls to the pool that all campaigns share."""

from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from annotation.models import Control
from retrieval.errors import UserError
from retrieval.rows import Row, RowFault, read_rows, text_field
from retrieval.text import normalise_question, pair_key

SHIPPED = Path(__file__).parent.parent / "controls" / "positive.jsonl"
COLUMNS = (("query",), ("question",), ("answer",))
MOST_CHARACTERS = 2000


@dataclass(frozen=True)
class Imported:
    read: int
    added: int
    pool: int


@transaction.atomic
def import_controls(path: Path = SHIPPED) -> Imported:
    """Add what is not there yet; one bad row refuses the file, since each stands for the truth."""
    rows = list(read_rows(path, required=COLUMNS))
    controls = {control.key: control for control in (_control(path, row) for row in rows)}
    pool = Control.objects.filter(campaign=None)
    known = set(pool.values_list("key", flat=True))
    new = [control for key, control in controls.items() if key not in known]
    Control.objects.bulk_create(new)
    return Imported(read=len(rows), added=len(new), pool=pool.count())


def _control(path: Path, row: Row) -> Control:
    try:
        if row.fault:
            raise RowFault(row.fault)
        query = text_field(row, COLUMNS[0], limit=MOST_CHARACTERS)
        question = text_field(row, COLUMNS[1], limit=MOST_CHARACTERS)
        if normalise_question(query) == normalise_question(question):
            raise RowFault("its query and question are the same text, which tells it at a glance")
        # Without one it would be told by its missing answer, or hide those of its whole HIT.
        answer = text_field(row, COLUMNS[2], limit=MOST_CHARACTERS)
    except RowFault as fault:
        raise UserError(f"Line {row.line} of {path}: {fault}; nothing was imported.") from fault
    # The texts are the key: the same control twice, in whatever file, is one.
    key = pair_key(query, question)
    return Control(
        kind=Control.Kind.POSITIVE, key=key, query=query, question=question, answer=answer
    )
