"""A panel's own list of its participants, with what is to be done about each row.

Its columns are the panel's, of whatever names, order and separator: a cell is known by the ID or
the code that it holds. Where a row does not clearly belong to one person, nobody is approved by it,
and nobody rejected.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from annotation.analytics.workers.panel_visits import REJECT, WAIT, PanelVisit
from core.errors import UserError

SEPARATORS = (",", ";", "\t")
UNKNOWN = "nobody with this ID or code has been here"
TWO_PEOPLE = "its ID and its code are of different people"
Cells = list[str]


@dataclass(frozen=True)
class CheckedRow:
    cells: Cells
    visit: PanelVisit | None
    doubt: str = ""

    @property
    def decision(self) -> str:
        if self.doubt:
            return WAIT
        return self.visit.decision if self.visit else REJECT

    @property
    def why(self) -> str:
        return self.doubt or (self.visit.why if self.visit else UNKNOWN)


@dataclass(frozen=True)
class CheckedList:
    head: Cells  # of the panel's columns
    rows: Sequence[CheckedRow]


def check_list(path: Path, visits: Sequence[PanelVisit]) -> CheckedList:
    """UserError where the file cannot be a list of these people."""
    people = _People(visits)
    rows = max(_readings(path), key=lambda rows: sum(map(bool, map(people.in_row, rows))))
    head, rows = (rows[0], rows[1:]) if rows and not people.in_row(rows[0]) else ([], rows)
    if not any(map(people.in_row, rows)):
        raise UserError(
            f"{path}: no row has the ID or the code of anybody who came by this link. Is it the "
            "list of another study?"
        )
    width = max(map(len, (head, *rows)))
    names = [*head, *(f"column {number + 1}" for number in range(len(head), width))]
    return CheckedList(names, list(_checked(people, rows, width)))


def _readings(path: Path) -> Iterator[list[Cells]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not in UTF-8: save it as CSV in UTF-8.") from error
    for separator in SEPARATORS:
        try:
            lines = csv.reader(StringIO(text, newline=""), delimiter=separator)
            yield [[cell.strip() for cell in line] for line in lines if any(map(str.strip, line))]
        except csv.Error as error:
            raise UserError(f"{path} cannot be read as CSV: {error}.") from error


class _People:
    def __init__(self, visits: Sequence[PanelVisit]) -> None:
        self._by_id = {one.person: one for one in visits if one.person}
        self._by_code: dict[str, list[PanelVisit]] = {}
        for one in visits:
            self._by_code.setdefault(one.visit.code.casefold(), []).append(one)

    def in_row(self, cells: Cells) -> list[PanelVisit]:
        """Each once, whether named by an ID or by a code of their own."""
        each = {one.visit.pk: one for cell in cells for one in self._in_cell(cell)}
        return list(each.values())

    def _in_cell(self, cell: str) -> list[PanelVisit]:
        # As a spreadsheet's own lists have it, a cell that begins like a formula has a quote.
        named = [
            self._by_id[text] for text in (cell, cell.removeprefix("'")) if text in self._by_id
        ]
        owners = self._by_code.get(cell.casefold(), [])
        return named + (owners if len(owners) == 1 else [])


def _checked(people: _People, rows: Sequence[Cells], width: int) -> Iterator[CheckedRow]:
    named = [people.in_row(cells) for cells in rows]
    times: dict[int, int] = {}
    for of_row in named:
        for one in of_row:
            times[one.visit.pk] = times.get(one.visit.pk, 0) + 1
    for cells, of_row in zip(rows, named, strict=True):
        padded = [*cells, *[""] * (width - len(cells))]
        if len(of_row) > 1:
            yield CheckedRow(padded, None, TWO_PEOPLE)
        elif of_row and times[of_row[0].visit.pk] > 1:
            name = of_row[0].person or of_row[0].worker
            yield CheckedRow(padded, of_row[0], f"{name} is in {times[of_row[0].visit.pk]} rows")
        else:
            yield CheckedRow(padded, of_row[0] if of_row else None)
