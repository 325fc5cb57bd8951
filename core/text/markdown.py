"""Markdown that hostile texts cannot break: what is printed is escaped unless it is ours. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# What Markdown, its tables and formulae take for their own, and what would become a link.
MEANINGFUL = re.compile(r"([\\`*_\[\]|~$]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# They turn the direction of the text around them, and with it what a reader takes it to say.
BIDI = dict.fromkeys(map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
BREAKING = {"Cc", "Cs", "Zl", "Zp"}


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def one_line(text: str) -> str:
    """Without control characters, line breaks and runs of white space."""
    shown = text.translate(BIDI)
    spaced = "".join(" " if unicodedata.category(char) in BREAKING else char for char in shown)
    return " ".join(spaced.split())


def escape(text: str) -> Markdown:
    """`text` as a reader sees it, on one line."""
    marked = MEANINGFUL.sub(r"\\\1", one_line(text))
    return Markdown("".join(ENTITIES.get(char, char) for char in marked))


def printed(value: object) -> object:
    """What a template prints for a value: texts escaped, numbers as they are."""
    if isinstance(value, Markdown) or not isinstance(value, str):
        return value
    return escape(value)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Markdown:
    """The first columns, as many as `left`, to the left, the others to the right."""
    marks = [Markdown("---" if column < left else "---:") for column in range(len(header))]
    lines = [[str(printed(cell)) for cell in row] for row in (header, marks, *rows)]
    return Markdown("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
