"""Files of a history: the requester site's tables, dumps of the API, and Turkle's results."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from annotation.pipeline.history.records import Record, records_of
from core.errors import UserError
from core.files.json_stream import json_values
from core.files.rows import Row, RowFault, json_type, read_rows
from core.progress import Progress

# Any of these columns leads to what a row says.
KNOWN = ("HITId", "WorkerId", "Worker ID", "QualificationTypeId")
# What a call of the API answers holds its records in one of these.
LISTS = (
    "HITs", "Assignments", "WorkerBlocks", "Qualifications", "QualificationTypes", "BonusPayments",
)  # fmt: skip
TEMPLATES = (".html", ".htm")
NO_HISTORY = "it is no HIT, assignment, worker, block, qualification or bonus"

Split = Sequence[Record]


def files_in(paths: Sequence[Path]) -> list[Path]:
    """Each file once, those of folders included, but for hidden ones."""
    files = [file for path in paths for file in (_visible(path) if path.is_dir() else [path])]
    return list(dict.fromkeys(files))


def _visible(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        path
        for path in files
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def read_history(path: Path, progress: Progress) -> Iterator[tuple[Row, Split]]:
    """Each row with its records, or with its fault and none; UserError where no row has any."""
    if path.name.lower().endswith(TEMPLATES):
        raise UserError(
            f"{path} is a template, not work that was done: `quorum turk publish` makes HITs of "
            "it and your input CSV."
        )
    known: bool | None = None  # whether any row is of a history
    for row in _rows(path, progress):
        split, fault = _split(row)
        known = known or fault != NO_HISTORY
        yield Row(row.line, row.fields, fault, row.excerpt), split
    if known is None:
        raise UserError(
            f"{path} has no rows: there is nothing to import of a list that is empty, so leave it "
            "out."
        )
    if not known:
        raise UserError(
            f"{path} has no history of Mechanical Turk or Turkle: name results of a batch, a list "
            "of workers, or a dump of HITs, assignments, blocks, qualifications or bonuses."
        )


def _split(row: Row) -> tuple[Split, str]:
    if row.fault:
        return [], row.fault
    try:
        split = records_of(row.fields)
    except RowFault as fault:
        return [], str(fault)
    return (split, "") if split is not None else ([], NO_HISTORY)


def _rows(path: Path, progress: Progress) -> Iterator[Row]:
    if is_json(path):
        values = (one for value in json_values(path, progress) for one in _records_in(value))
        return (_json_row(number, value) for number, value in enumerate(values, 1))
    return read_rows(path, required=[KNOWN], others=[".json"], as_written=True, progress=progress)


def is_json(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".json", ".jsonl"))


def _records_in(value: Any) -> Iterator[Any]:
    """A call's answer is a page of records."""
    lists = [value[name] for name in LISTS if name in value] if isinstance(value, dict) else []
    if isinstance(value, list):
        lists = [value]
    if not any(isinstance(one, list) for one in lists):
        yield value
        return
    for one in lists:
        yield from one if isinstance(one, list) else [one]


def _json_row(number: int, value: Any) -> Row:
    if not isinstance(value, dict):
        return Row(number, {}, f"it is not an object but {json_type(value)}")
    return Row(number, value)
