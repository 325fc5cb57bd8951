"""Documents to make spans of: paragraphs of sentences, with the filters of the AS2 paper.

A document is a row of a .jsonl file with its `text`, a paragraph a line; or a .txt file, whose
paragraphs have empty lines between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pysbd  # type: ignore[import-untyped]

from core.errors import UserError
from core.files.open import open_unpacked
from core.files.rows import read_rows
from core.progress import Progress, no_progress
from core.text.clean import clean_text, is_utf8
from retrieval.training.building.shards import Request, build
from retrieval.vectors.checksums import sha256_of

SHORTEST_PARAGRAPH, SHORTEST_DOCUMENT = 60, 200  # characters
LARGEST_TEXT = 5_000_000  # characters of a document, or bytes of a file that is one
EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")
DOCUMENTS = 5_000  # of the files in a shard, those that are left out too


def build_documents(
    folder: Path, files: Sequence[Path], *, language: str = "en", progress: Progress = no_progress
) -> dict[str, Any]:
    """`progress` counts shards."""
    if language not in LANGUAGES:
        raise UserError(
            f"Sentences of {language!r} cannot be told apart: choose one of {', '.join(LANGUAGES)}."
        )
    inputs = {path.name: sha256_of(path) for path in files}
    if len(inputs) < len(files):
        raise UserError("Two of the files have the same name: rename one of them.")
    options = {"language": language, "files": list(inputs)}  # in their order
    request = Request("documents", 0, options, inputs)
    shards = -(-sum(1 for _ in _texts(files)) // DOCUMENTS)
    numbered = enumerate(_texts(files))

    def rows(shard: int) -> Iterator[dict[str, Any]]:
        """Shards come in order; those that are there already are passed over."""
        for number, text in numbered:
            if number >= shard * DOCUMENTS and (document := paragraphs_of(text, language)):
                yield {"id": number, "paragraphs": document}
            if number + 1 == (shard + 1) * DOCUMENTS:
                return

    return build(folder, request, shards, rows, progress=progress)


LANGUAGES = tuple(sorted(pysbd.languages.LANGUAGE_CODES))


def paragraphs_of(text: str, language: str = "en") -> list[list[str]]:
    """Each a list of its sentences; none of a document that is too short."""
    paragraphs = [clean_text(line) for line in text.splitlines()]
    kept = [each for each in paragraphs if len(each) >= SHORTEST_PARAGRAPH]
    if sum(map(len, kept)) < SHORTEST_DOCUMENT:
        return []
    segment = _segmenter(language).segment
    return [[one.strip() for one in segment(each) if one.strip()] for each in kept]


@cache
def _segmenter(language: str) -> Any:
    return pysbd.Segmenter(language=language, clean=False)


def _texts(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        if path.name.lower().removesuffix(".gz").endswith(".txt"):
            yield "\n".join(" ".join(block.split()) for block in EMPTY_LINE.split(_whole(path)))
            continue
        for row in read_rows(path, required=[("text",)]):
            text = row.fields.get("text")
            if row.fault or not isinstance(text, str) or not is_utf8(text):
                raise UserError(f"Line {row.line} of {path}: {row.fault or 'the text is missing'}.")
            if len(text) > LARGEST_TEXT:
                raise UserError(
                    f"Line {row.line} of {path}: the text has over {LARGEST_TEXT:,} characters: "
                    "divide it into documents."
                )
            yield text


def _whole(path: Path) -> str:
    with open_unpacked(path) as (stream, _):
        data = stream.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise UserError(f"{path} has over {LARGEST_TEXT:,} bytes: divide it into documents.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid UTF-8: save it as UTF-8.") from error
