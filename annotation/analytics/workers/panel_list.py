"""A panel's own list of its participants, with what is to be done about each row.

Its columns are the panel's, of whatever names, order and separator: that of the IDs is the one in
which most cells are IDs of these people, and so for the codes. Where a row does not clearly belong
to one person, nobody is approved by it, and nobody rejected.
"""

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from annotation.analytics.workers.panel_visits import REJECT, WAIT, PanelVisit
from core.errors import UserError

SEPARATORS = (",", ";", "\t")
UNKNOWN = "nobody with this ID or code has been here"
TWO_PEOPLE = "its ID and its code are of different people"
ANOTHER = "its code belongs to somebody with another ID"
NO_IDS = "no row has an ID of anybody who came: a code alone may have been passed on"
ELSEWHERE = "somebody with this ID came by another link of this campaign"
Cells = list[str]
Find = Callable[[str], PanelVisit | None]


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


def check_list(
    path: Path, visits: Sequence[PanelVisit], elsewhere: Collection[str] = ()
) -> CheckedList:
    """UserError where the file cannot be a list of these people.

    `elsewhere`: IDs of those who came by other links of the campaign.
    """
    people = _People(visits, elsewhere)
    named = max((people.named_in(rows) for rows in _readings(path)), key=_how_many)
    head = [] if named and named[0].people else named[0].cells if named else []
    rows = named[1:] if head else named
    if not _how_many(rows):
        raise UserError(
            f"{path}: no row has the ID or the code of anybody who came by this link. Is it the "
            "list of another study?"
        )
    width = max(len(row.cells) for row in named)
    names = [*head, *(f"column {number + 1}" for number in range(len(head), width))]
    return CheckedList(names, list(_checked(rows, width)))


@dataclass(frozen=True)
class _Row:
    cells: Cells
    people: Sequence[PanelVisit]  # that it names
    doubt: str


def _how_many(rows: Sequence[_Row]) -> int:
    return sum(bool(row.people) for row in rows)


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
    def __init__(self, visits: Sequence[PanelVisit], elsewhere: Collection[str]) -> None:
        self._elsewhere = elsewhere
        self._by_id = {one.person: one for one in visits if one.person}
        self._by_code: dict[str, list[PanelVisit]] = {}
        for one in visits:
            self._by_code.setdefault(one.visit.code.casefold(), []).append(one)

    def named_in(self, rows: Sequence[Cells]) -> list[_Row]:
        ids, codes = self._columns(rows, self._by_its_id), self._columns(rows, self._by_its_code)
        return [
            _Row(cells, mine, self._doubt(cells, mine, ids, codes))
            for cells in rows
            for mine in [self._in(cells, ids, codes)]
        ]

    def _doubt(
        self,
        cells: Cells,
        named: Sequence[PanelVisit],
        ids: Sequence[int],
        codes: Sequence[int],
    ) -> str:
        if len(named) > 1:
            return TWO_PEOPLE
        if named and not ids and len(cells) > len(codes):
            return NO_IDS
        given = [cells[number] for number in ids if number < len(cells) and cells[number]]
        if named and given and not any(map(self._by_its_id, given)):
            return ANOTHER
        if not named and any(cell in self._elsewhere for cell in cells):
            return ELSEWHERE
        return ""

    def _columns(self, rows: Sequence[Cells], find: Find) -> list[int]:
        """Where most cells name somebody."""
        hits = Counter(
            number for cells in rows for number, cell in enumerate(cells) if find(cell) is not None
        )
        return [number for number, count in hits.items() if count == max(hits.values())]

    def _in(self, cells: Cells, ids: Sequence[int], codes: Sequence[int]) -> Sequence[PanelVisit]:
        """Each once, whether named by an ID or by a code of their own."""
        named = [
            find(cells[number])
            for find, columns in ((self._by_its_id, ids), (self._by_its_code, codes))
            for number in columns
            if number < len(cells)
        ]
        return list({one.visit.pk: one for one in named if one is not None}.values())

    def _by_its_id(self, cell: str) -> PanelVisit | None:
        # As a spreadsheet's own lists have it, a cell that begins like a formula has a quote.
        return self._by_id.get(cell) or self._by_id.get(cell.removeprefix("'"))

    def _by_its_code(self, cell: str) -> PanelVisit | None:
        owners = self._by_code.get(cell.casefold(), [])
        return owners[0] if len(owners) == 1 else None


def _checked(rows: Sequence[_Row], width: int) -> Iterator[CheckedRow]:
    times = Counter(one.visit.pk for row in rows for one in row.people)
    for row in rows:
        padded = [*row.cells, *[""] * (width - len(row.cells))]
        if row.doubt:
            yield CheckedRow(padded, None, row.doubt)
            continue
        person = row.people[0] if row.people else None
        if person and times[person.visit.pk] > 1:
            name = person.person or person.worker
            yield CheckedRow(padded, person, f"{name} is in {times[person.visit.pk]} rows")
        else:
            yield CheckedRow(padded, person)
