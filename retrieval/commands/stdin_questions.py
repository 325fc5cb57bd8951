"""The questions that a command is given: one as its argument, or a line each on standard input."""

import io
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from core.errors import UserError
from core.text.clean import clean_text, is_utf8
from retrieval.ranking.fusion import ALONE, RETRIEVERS

DEFAULT_RETRIEVERS = ",".join(ALONE)
SHOWN = 100  # characters of a text

Question = Annotated[
    str | None,
    typer.Argument(metavar="[QUESTION]", help="Without it, each line of standard input is one."),
]
Retrievers = Annotated[
    str,
    typer.Option(metavar="NAMES", help=f"{', '.join(RETRIEVERS)}, or several joined by commas."),
]

FromCorpus = Annotated[
    str, typer.Option("--corpus", metavar="NAME", help="Corpus to search; `all` has every pair.")
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Refuse an index that lacks pairs of the corpus.")
]


def read_questions(one: str | None) -> list[str]:
    """Cleaned as the texts of pairs are. UserError where there is none."""
    given = [_checked(one, "The question")] if one is not None else lines()
    questions = [question for question in given if question]
    if not questions:
        raise UserError("There is no question: give one, or one a line on standard input.")
    return questions


def lines() -> Iterator[str]:
    """As the lines of a file are read: UTF-8 whatever the terminal, with a mark of it or without.

    A blank line becomes an empty text.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
    for number, line in enumerate(sys.stdin, 1):
        yield _checked(line, f"Line {number} of standard input")


def _checked(line: str, what: str) -> str:
    if not is_utf8(line):
        shown = line.strip()[:SHOWN].encode(errors="replace").decode()
        raise UserError(f'{what} is not in UTF-8 ("{shown}"): give it in UTF-8.')
    return clean_text(line)
