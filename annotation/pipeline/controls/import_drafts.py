"""Drafts of controls from a file, such as a model's paraphrases of a campaign's queries."""

from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from annotation.models import Campaign, Control, ControlDraft
from annotation.pipeline.controls.controls import MOST_CHARACTERS, Texts, UnfitTexts
from annotation.pipeline.controls.drafts import given_draft
from annotation.pipeline.gold.rejected_rows import BadRows, Rejected
from core.files.rows import Row, RowFault, optional_field, read_rows, text_field

COLUMNS = (("kind",), ("query",), ("question",))


@dataclass(frozen=True)
class Imported:
    read: int
    added: int
    open: int  # that wait for a person now


@transaction.atomic
def import_drafts(path: Path, campaign: Campaign) -> Imported:
    """All rows or none; what was drafted before stays as it was decided."""
    drafts, known = campaign.control_drafts, campaign.control_drafts.count()
    rows = _read(path, campaign)
    ControlDraft.objects.bulk_create(rows, ignore_conflicts=True)
    waiting = drafts.filter(state=ControlDraft.State.OPEN).count()
    return Imported(len(rows), drafts.count() - known, waiting)


def _read(path: Path, campaign: Campaign) -> list[ControlDraft]:
    """BadRows names every row that is none."""
    drafts: list[ControlDraft] = []
    rejected: list[Rejected] = []
    for row in read_rows(path, required=COLUMNS):
        try:
            drafts.append(_draft(campaign, row))
        except (RowFault, UnfitTexts) as fault:
            rejected.append(Rejected(row.line, str(fault), row.excerpt))
    if rejected:
        raise BadRows(path, rejected)
    return drafts


def _draft(campaign: Campaign, row: Row) -> ControlDraft:
    if row.fault:
        raise RowFault(row.fault)
    kind, query, question = (text_field(row, one, limit=MOST_CHARACTERS) for one in COLUMNS)
    if kind not in Control.Kind.values:
        raise RowFault(f"the kind is {kind!r}, neither positive nor negative")
    answer = optional_field(row, "answer", limit=MOST_CHARACTERS)
    return given_draft(campaign, Control.Kind(kind), Texts(query, question, answer))
