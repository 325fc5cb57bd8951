"""What must still agree where another version of the software chose the words or drew the plots.

Each function takes the release's file and the rebuilt one, and returns how they differ, in
words that follow the file's name; None where only wording or drawing does.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import orjson

from exports.layout.rules import ID
from exports.verify.findings import quote
from exports.verify.schemas import AtLeast, Each, faults

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
TEXTS = re.compile(r"<(dc:title|title|text)\b[^>]*>(.*?)</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
LISTED = AtLeast({"distribution": Each(AtLeast({"contentUrl": ID, "sha256": ID}))})


def other_numbers(stated: Path, made: Path) -> str | None:
    """Each row of the card's tables has the numbers of a row made, in that order; rows may lack."""
    rows = iter([numbers for _, numbers in _rows(made)])
    for row, numbers in _rows(stated):
        if numbers not in rows:  # goes on behind the row that was found last
            return f"no table that the other files make has the numbers of the row {quote(row)}"
    return None


def _rows(card: Path) -> list[tuple[str, list[str]]]:
    lines = _read(card).splitlines()
    rows = [(line, NUMBER.findall(line)) for line in lines if line.startswith("|")]
    return [(line, numbers) for line, numbers in rows if numbers]


def other_checksums(stated: Path, made: Path) -> str | None:
    """Croissant lists the same files, each with its sha256."""
    try:
        value = orjson.loads(stated.read_bytes())
    except orjson.JSONDecodeError as error:
        return f"no JSON ({error})"
    if fault := next(faults(value, LISTED), None):
        return fault
    there, here = _checksums(value), _checksums(orjson.loads(made.read_bytes()))
    for path in sorted(there.keys() | here.keys()):
        if there.get(path) != here.get(path):
            return f"not the sha256 of {quote(path)[1:-1]}"
    return None


def _checksums(values: dict[str, Any]) -> dict[str, str]:
    return {each["contentUrl"]: each["sha256"] for each in values["distribution"]}


def other_texts(stated: Path, made: Path) -> str | None:
    """A plot says the same, title and labels, wherever it says it."""
    there, here = _texts(stated), _texts(made)
    for text in there - here:
        return f"says {quote(text)}, which the other files do not make"
    for text in here - there:
        return f"does not say {quote(text)}, which the other files make"
    return None


def _texts(plot: Path) -> Counter[str]:
    texts = (TAG.sub("", match[2]) for match in TEXTS.finditer(_read(plot)))
    return Counter(" ".join(unescape(text).split()) for text in texts)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
