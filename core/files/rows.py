"""Rows of a user's file, streamed in constant memory.

What is wrong with one row is told in that row's `fault`; what is wrong with the whole file is
raised as a UserError.
"""

import csv
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Number
from pathlib import Path

from core.errors import UserError
from core.files.open import check_is_file, open_unpacked
from core.progress import Progress, no_progress
from core.text.clean import clean_text, in_utf8, is_utf8
from core.text.words import plural

MOST_BLANK = 100_000  # lines in a row: more are no slip
MAX_LINE_BYTES = 10_000_000
EXCERPT = 200
TAB = "\t"
DELIMITERS = {".csv": ",", ".tsv": TAB}
NOT_UTF8 = "the row is not valid UTF-8 (save the file as UTF-8)"
JSON_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    bytes: "binary data",
    type(None): "null",
}
# Any of these column names will do.
Column = tuple[str, ...]
Names = Callable[[Sequence[str]], list[str]]  # of the columns, from a table's first line


class RowFault(Exception):
    """Why one row cannot be used; it may quote the row, whatever that holds."""

    def __init__(self, fault: str) -> None:
        super().__init__(in_utf8(fault))


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    fields: Mapping[str, object]
    fault: str = ""
    excerpt: str = ""
    # Why there is no pair here although nothing is wrong.
    skip: str = ""

    def __post_init__(self) -> None:
        """What is told of it can be told to everybody."""
        object.__setattr__(self, "fault", in_utf8(self.fault))
        object.__setattr__(self, "excerpt", in_utf8(self.excerpt))


def read_rows(
    path: Path,
    *,
    required: Sequence[Column],
    plain_column: str | None = None,
    others: Sequence[str] = (),
    as_written: bool = False,
    progress: Progress = no_progress,
) -> Iterator[Row]:
    """Rows of a .jsonl, .csv or .tsv file, or of a .txt file when `plain_column` names its lines.

    Each may be compressed as .gz. `others`: endings that the caller reads itself. The columns of a
    table have small letters, or are `as_written`. `progress` counts bytes of the file as it lies on
    the disk.
    """
    kind = _kind(path, plain_column, others)
    if kind in DELIMITERS:
        lines = read_lines(path, progress)
        names = _names_as_written if as_written else _names
        rows = _delimited_rows(path, lines, DELIMITERS[kind], required, names)
    elif kind == ".jsonl":
        rows = json_rows(path, progress)
    else:
        rows = (
            Row(number, {plain_column or "": line}, excerpt=line[:EXCERPT])
            for number, line in enumerate(read_lines(path, progress), 1)
            if line.strip()
        )
    return not_empty(path, rows)


def text_field(row: Row, column: Column, *, limit: int) -> str:
    """The cleaned text of a column that must have one; raises RowFault."""
    for name in column:
        if row.fields.get(name) is not None:
            if text := _text(name, row.fields[name], limit):
                return text
            raise RowFault(f"the {name} is empty")
    raise RowFault(_lacking(row, " or ".join(column)))


def optional_field(row: Row, name: str, *, limit: int) -> str:
    """Like `text_field`, but empty where the row has none; whole numbers are taken as texts."""
    value = row.fields.get(name)
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return _text(name, value, limit)


def number_field(row: Row, name: str) -> float:
    """A number, or a text that is one; raises RowFault."""
    value = row.fields.get(name)
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            if math.isfinite(number := float(value)):
                return number
        except (ValueError, OverflowError):
            pass
    if value is not None:
        raise RowFault(f"the {name} is not a number")
    raise RowFault(f"there is no {name}" if name in row.fields else _lacking(row, name))


def _lacking(row: Row, name: str) -> str:
    columns = ", ".join(map(str, row.fields)) or "none"
    return f"there is no {name} (columns found: {columns[:EXCERPT]})"


def _text(name: str, value: object, limit: int) -> str:
    if not isinstance(value, str):
        raise RowFault(f"the {name} is not a text but {json_type(value)}")
    text = clean_text(value)
    if len(text) > limit:
        raise RowFault(f"the {name} has {len(text):,} characters, more than {limit:,}")
    if not is_utf8(text):
        raise RowFault(NOT_UTF8)
    return text


def _kind(path: Path, plain_column: str | None, others: Sequence[str]) -> str:
    kinds = [".jsonl", *DELIMITERS, *([".txt"] if plain_column else [])]
    name = path.name.lower().removesuffix(".gz")
    kind = next((kind for kind in kinds if name.endswith(kind)), None)
    check_is_file(path)
    if kind is None:
        with open_unpacked(path):
            pass  # what it is, where its beginning tells
        raise UserError(
            f"{path} has an unknown type: its name must end in {', '.join(kinds)}, in one of these "
            f"with .gz{''.join(f', or in {ending}' for ending in others)}."
        )
    return kind


def read_lines(
    path: Path, progress: Progress = no_progress, *, longest: int = MAX_LINE_BYTES
) -> Iterator[str]:
    """Decoded lines; a byte that is not UTF-8 becomes a lone surrogate, as no valid text has."""
    with open_unpacked(path) as (stream, raw):
        reported = number = blank = 0
        while line := stream.readline(longest + 1):
            number += 1
            if number == 1:
                _require_line_feeds(path, line)
                line = line.removeprefix(b"\xef\xbb\xbf")
            if len(line) > longest:
                raise UserError(
                    f"Line {number} of {path} is longer than {longest:,} bytes: "
                    "write each row on one line."
                )
            blank = blank + 1 if line.isspace() else 0
            if blank > MOST_BLANK:
                raise UserError(
                    f"Line {number:,} of {path} is one of more than {MOST_BLANK:,} blank lines: "
                    "remove them."
                )
            yield line.decode("utf-8", "surrogateescape")
            if number % 1000 == 0:
                progress(raw.tell() - reported)
                reported = raw.tell()
        progress(raw.tell() - reported)


def _require_line_feeds(path: Path, line: bytes) -> None:
    if b"\r" in line.rstrip() and not line.endswith(b"\n"):
        raise UserError(f"{path} has the line ends of old Macs (CR): save it with LF or CR LF.")


def json_rows(
    path: Path, progress: Progress = no_progress, *, longest: int = MAX_LINE_BYTES
) -> Iterator[Row]:
    """A row for each line, which is to be an object."""
    for number, line in enumerate(read_lines(path, progress, longest=longest), 1):
        if number == 1 and "".join(line.split())[:2] in ("[", "[{"):
            raise UserError(
                f"{path} is one JSON list: write each object on a line of its own, without "
                "brackets and commas around it."
            )
        if line.strip():
            yield _json_row(number, line)


def _json_row(number: int, line: str) -> Row:
    excerpt = line[:EXCERPT]
    if not is_utf8(line):
        return Row(number, {}, NOT_UTF8, excerpt)
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return Row(number, {}, f"the line is not JSON: {_json_fault(error)}", excerpt)
    except (RecursionError, ValueError) as error:
        fault = f"the line is JSON that cannot be read: {beyond_limits(error)}"
        return Row(number, {}, fault, excerpt)
    if not isinstance(value, dict):
        return Row(number, {}, f"the line is not an object but {json_type(value)}", excerpt)
    return Row(number, value, excerpt=excerpt)


def beyond_limits(error: RecursionError | ValueError) -> str:
    """What Python does not read, though it is JSON."""
    if isinstance(error, RecursionError):
        return "its lists and objects lie too deep in another"
    return f"a number in it has more than {sys.get_int_max_str_digits():,} digits"


def _json_fault(error: json.JSONDecodeError) -> str:
    return f"{error.msg.removesuffix(' at')} at {error.pos + 1}"


def _delimited_rows(
    path: Path, lines: Iterator[str], usual: str, required: Sequence[Column], names: Names
) -> Iterator[Row]:
    first = next(lines, "")
    try:
        delimiter = _delimiter(first, usual, required, names)
        reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
        header = names(next(reader, []))
    except csv.Error as error:
        raise UserError(
            f"The header of {path} cannot be read ({_csv_fault(error, 1, 1)}): correct the first "
            "line."
        ) from error
    if header:
        _check_header(path, header, required)
    while True:
        line = reader.line_num + 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            yield Row(line, {}, _csv_fault(error, line, reader.line_num))
            continue
        if values is None:
            return
        if values:
            yield _delimited_row(line, header, values, delimiter)


def _delimiter(first: str, usual: str, required: Sequence[Column], names: Names) -> str:
    """Another than the usual one only where it finds the columns: in many countries spreadsheets
    write CSV with semicolons."""
    for delimiter in (usual, ",", ";", TAB):
        header = names(next(csv.reader([first], delimiter=delimiter), []))
        if all(set(column) & set(header) for column in required):
            return delimiter
    return usual


def _names(header: Sequence[str]) -> list[str]:
    return [name.casefold() for name in _names_as_written(header)]


def _names_as_written(header: Sequence[str]) -> list[str]:
    return [name.strip() for name in header]


def _csv_fault(error: csv.Error, first: int, last: int) -> str:
    """`first` and `last` line of what was read as one row."""
    reason = str(error)
    lost = f"lines {first} to {last} are not read"
    if first == last:
        lost = f"line {first} is not read"
    if reason.startswith("new-line character"):
        return "it contains a CR that does not end a line"
    if reason.startswith("field larger"):
        most = f"{csv.field_size_limit():,} characters"
        if first == last:
            return f"a field has more than {most}"
        return f"a quote opens here and does not close within {most}: {lost}"
    if reason.startswith("unexpected end"):
        return f"a quote opens here and never closes: {lost}"
    if first == last:
        return 'text follows a closing quote (write a quote inside a text as "")'
    return f"a quote opens here and ends in line {last}, before other text: {lost}"


def _check_header(path: Path, header: list[str], required: Sequence[Column]) -> None:
    columns = in_utf8(", ".join(header)[:EXCERPT])
    lacking = [column for column in required if not set(column) & set(header)]
    if lacking:
        names = " and no column ".join(" or ".join(map(repr, column)) for column in lacking)
        them = "it" if len(lacking) == 1 else "them"
        raise UserError(
            f"{path} has no column {names}: name {them} in its first line, which is: {columns}."
        )
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise UserError(f"{path} has two columns {in_utf8(twice[0][:EXCERPT])!r}: rename one.")


def _delimited_row(line: int, header: list[str], values: list[str], delimiter: str) -> Row:
    text = delimiter.join(values)
    if not is_utf8(text):
        return Row(line, {}, NOT_UTF8, text[:EXCERPT])
    if len(values) != len(header):
        fault = f"the row has {plural(len(values), 'column')}, the header {len(header)}"
        if len(values) > len(header):
            fault += f" (put a text with {delimiter.replace(TAB, 'a tab')} in quotes)"
        return Row(line, {}, fault, text[:EXCERPT])
    return Row(line, dict(zip(header, values, strict=True)), excerpt=text[:EXCERPT])


def not_empty(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    row = next(rows, None)
    if row is None:
        size = os.path.getsize(path)
        raise UserError(f"{path} ({size:,} bytes) has no rows: name a file that has some.")
    yield row
    yield from rows


def json_type(value: object) -> str:
    """Parquet has more types than JSON."""
    if isinstance(value, Number) and not isinstance(value, bool):
        return "a number"
    return JSON_TYPES.get(type(value), f"a {type(value).__name__}")
