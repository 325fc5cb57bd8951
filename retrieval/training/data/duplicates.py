"""Pairs of questions, duplicates or not: what a model may learn first (QUADRo, section 5.1).

A .tsv, .csv or .jsonl with question1, question2 and is_duplicate (or label), as Quora publishes
them; answer2 may hold an answer of question2. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError
from core.files.rows import Row, RowFault, number_field, optional_field, read_rows, text_field
from core.progress import Progress, no_progress
from core.text.clean import question_key

LONGEST = 10_000  # characters
FIRST, SECOND = ("question1",), ("question2",)
LABEL = ("is_duplicate", "label")
ANSWER = "answer2"
# One of these pairs in ten tells when to stop.
DEV_SHARE = 10


class Duplicate(NamedTuple):
    query: str
    question: str
    answer: str  # of the question; empty: none is known
    label: int


@dataclass(frozen=True)
class Duplicates:
    train: list[Duplicate]
    dev: list[Duplicate]
    held_out: int  # left out: a question of theirs is a query of the release's dev or test


def read_duplicates(
    path: Path, held_out: Collection[str], progress: Progress = no_progress
) -> Duplicates:
    """`held_out`: keys of questions that no model may have seen.

    A question of dev is in no pair of train. UserError where a row is wrong: a dataset with holes
    is not trained on in silence.
    """
    train: list[tuple[str, str, Duplicate]] = []
    dev: list[Duplicate] = []
    dev_keys: set[str] = set()
    left_out = 0
    for row in read_rows(path, required=[FIRST, SECOND, LABEL], progress=progress):
        pair = _pair(path, row)
        keys = question_key(pair.query), question_key(pair.question)
        if any(key in held_out for key in keys):
            left_out += 1
        elif int(keys[0], 16) % DEV_SHARE == 0:
            dev.append(pair)
            dev_keys.update(keys)
        else:
            train.append((*keys, pair))
    kept = [pair for one, other, pair in train if not {one, other} & dev_keys]
    return Duplicates(kept, dev, left_out)


def _pair(path: Path, row: Row) -> Duplicate:
    try:
        if row.fault:
            raise RowFault(row.fault)
        return Duplicate(
            query=text_field(row, FIRST, limit=LONGEST),
            question=text_field(row, SECOND, limit=LONGEST),
            answer=optional_field(row, ANSWER, limit=LONGEST),
            label=_label(row),
        )
    except RowFault as fault:
        raise UserError(f"Line {row.line} of {path}: {fault}.") from fault


def _label(row: Row) -> int:
    name = next((name for name in LABEL if row.fields.get(name) is not None), LABEL[0])
    number = number_field(row, name)
    if number not in (0, 1):
        raise RowFault(f"the {name} is {number:g}, and must be 0 or 1")
    return int(number)
