"""Runs: what a system scored, read from TREC lines or JSONL. Pure.

`runs` ranks and writes.

    query Q0 candidate rank score tag                          six columns, any white space
    {"query_id": "q1", "candidate_id": "4be0...", "score": 0.91}        one candidate a line
    {"id": "q1", "scores": {"4be0...": 0.91, ...}}                          one query a line

trec_eval ignores the rank column, compares scores as 32-bit floats, higher ones first, and puts
the greater candidate id first where they tie.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.errors import UserError
from core.files.rows import read_lines
from core.text.clean import is_utf8

COLUMNS = 6
EXCERPT = 60
LARGEST = float(np.finfo(np.float32).max)
HOW = (
    "write `query Q0 candidate rank score tag`, or JSON lines with query_id, candidate_id and "
    "score, or with id and scores"
)


class Scored(NamedTuple):
    line: int
    query: str
    candidate: str
    score: float


class LineFault(Exception):
    """Why a line is none of a run."""


def run_path(release: Path, split: str, system: str) -> Path:
    """Of a run that a release brings along."""
    return release / "trec" / f"{split}.{system}.run"


def baseline_path(release: Path, split: str, system: str) -> Path:
    """UserError where it brings none."""
    path = run_path(release, split, system)
    if not path.is_file():
        bm25 = "bm25, or " if run_path(release, split, "bm25").is_file() else ""
        raise UserError(
            f"{release} lacks trec/{path.name}, as imported sets do: name {bm25}runs of your own, "
            "and one of them by --against."
        )
    return path


def read_run(path: Path) -> Iterator[Scored]:
    """In the file's order, a line in memory at a time; UserError names a line that is wrong."""
    lines = ((number, line) for number, line in enumerate(read_lines(path), 1) if line.strip())
    first = next(lines, None)
    if first is None:
        raise UserError(f"{path} is empty: name a run that has a line.")
    parse = _from_json if first[1].lstrip().startswith("{") else _from_trec
    for number, line in chain([first], lines):
        try:
            yield from _parsed(number, line, parse)
        except LineFault as fault:
            raise UserError(f"Line {number} of {path}: {fault}.") from fault


def by_query(path: Path) -> Iterator[tuple[str, list[Scored]]]:
    """Each query with all its lines; a run that scatters them is sorted in memory."""
    rows: Iterable[Scored] = read_run(path)
    if not _is_grouped(path):
        rows = sorted(rows, key=attrgetter("query"))
    for query, lines in groupby(rows, key=attrgetter("query")):
        yield query, _each_once(path, list(lines))


def quote(name: str) -> str:
    """Of a user's file, in a message: short, and nothing that moves the cursor."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[:EXCERPT])


def _is_grouped(path: Path) -> bool:
    seen: set[str] = set()
    for query, _ in groupby(read_run(path), key=attrgetter("query")):
        if query in seen:
            return False
        seen.add(query)
    return True


def _each_once(path: Path, rows: list[Scored]) -> list[Scored]:
    first: dict[str, int] = {}
    for row in rows:
        earlier = first.setdefault(row.candidate, row.line)
        if earlier != row.line:
            raise UserError(
                f"{path} ranks candidate {quote(row.candidate)} twice for query "
                f"{quote(row.query)} (lines {earlier} and {row.line}): leave one of them."
            )
    return rows


_Parsed = Iterable[tuple[str, str, object]]


def _parsed(number: int, line: str, parse: Callable[[str], _Parsed]) -> Iterator[Scored]:
    if not is_utf8(line) or "\0" in line:
        raise LineFault(f"it is not text in UTF-8; {HOW}")
    for query, candidate, score in parse(line):
        yield Scored(number, query, candidate, _number(score))


def _from_trec(line: str) -> _Parsed:
    columns = line.split()
    if len(columns) != COLUMNS:
        raise LineFault(f"it has {len(columns)} columns, not {COLUMNS}; {HOW}")
    return [(columns[0], columns[2], columns[4])]


def _from_json(line: str) -> _Parsed:
    try:
        values = json.loads(line, object_pairs_hook=_keys_once)
    except (ValueError, RecursionError) as error:
        raise LineFault(f"it is not JSON ({error}); {HOW}") from error
    if not isinstance(values, dict):
        raise LineFault(f"it is no JSON object; {HOW}")
    scores = values.get("scores")
    if isinstance(scores, dict) and scores:
        return [(_id(values, "id"), candidate, score) for candidate, score in scores.items()]
    if "score" not in values:
        raise LineFault(f"it has no score; {HOW}")
    return [(_id(values, "query_id"), _id(values, "candidate_id"), values["score"])]


def _keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise LineFault("it has a key twice: leave one of them")
    return values


def _id(values: Mapping[str, Any], name: str) -> str:
    """Whole numbers are taken as texts."""
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise LineFault(f"its {name} is missing or no text; {HOW}")
    return str(value)


def _number(score: object) -> float:
    """Finite, as a 32-bit float too."""
    if isinstance(score, bool) or not isinstance(score, str | int | float):
        raise LineFault(f"its score is {json.dumps(score)[:EXCERPT]}: give a number")
    try:
        number = float(score)
    except (ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= LARGEST:
        raise LineFault(f"its score is {quote(str(score))}: give a finite number")
    return number
