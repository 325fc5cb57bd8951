"""Pairs of texts that belong together or do not: the objectives of the AS2 paper (section 4).

    ssp    two spans of one paragraph; negatives are spans of other paragraphs
    sp     a span and the rest of its paragraph; negatives are other paragraphs without a span
    psd    two paragraphs of one document; negatives are paragraphs of other documents

Four negatives to a positive, up to two of them hard, of the same document (psd has no hard ones).
Each draw depends on the seed, the epoch, and the document alone: there are as many as are wanted.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from core.errors import UserError
from core.progress import Progress, no_progress
from core.text.words import plural
from retrieval.training.building.shards import (
    MANIFEST,
    Request,
    build,
    draws,
    of_epochs,
    read_manifest,
    shards_of,
)
from retrieval.vectors.checksums import sha256_of

NEGATIVES, HARD = 4, 2
LONGEST_LEFT, LONGEST_RIGHT = 3, 5  # sentences
DOCUMENTS = 5_000  # in a shard

Paragraph = list[str]  # sentences
Draw = random.Random


def build_spans(
    folder: Path,
    documents: Path,
    objective: str,
    *,
    seed: int = 1,
    epochs: int = 1,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """`progress` counts shards. UserError where there are too few documents to draw from."""
    if objective not in OBJECTIVES:
        raise UserError(
            f"There is no objective {objective!r}: choose one of {', '.join(OBJECTIVES)}."
        )
    if (kind := read_manifest(documents)["kind"]) != "documents":
        raise UserError(
            f"{documents} holds {kind}: name the folder of `quorum material documents`."
        )
    corpus = _Documents(documents)
    if len(corpus) < 2:
        held = plural(len(corpus), "document")
        raise UserError(f"{documents} has {held}: negatives need another one.")
    inputs = {"documents": sha256_of(documents / MANIFEST)}
    request = Request("spans", seed, {"objective": objective, **of_epochs(epochs)}, inputs)

    def rows(shard: int) -> Iterator[dict[str, Any]]:
        first = shard * DOCUMENTS
        for number in range(first, min(first + DOCUMENTS, len(corpus))):
            for draw in draws(seed, epochs, number):
                yield from OBJECTIVES[objective](corpus, number, draw)

    return build(folder, request, -(-len(corpus) // DOCUMENTS), rows, progress=progress)


class _Documents:
    """Where each begins is in memory, its text is not."""

    def __init__(self, folder: Path) -> None:
        self._paths = list(shards_of(folder))
        self._offsets = [_line_starts(path) for path in self._paths]
        self._first = [0, *accumulate(map(len, self._offsets))]

    def __len__(self) -> int:
        return self._first[-1]

    def paragraphs(self, number: int) -> list[Paragraph]:
        shard = bisect_right(self._first, number) - 1
        with self._paths[shard].open("rb") as file:
            file.seek(int(self._offsets[shard][number - self._first[shard]]))
            document: list[Paragraph] = orjson.loads(file.readline())["paragraphs"]
            return document

    def elsewhere(self, number: int, draw: Draw) -> Paragraph:
        """A paragraph of another document."""
        other = draw.randrange(len(self) - 1)
        return draw.choice(self.paragraphs(other + (other >= number)))


def _line_starts(path: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    with path.open("rb") as file:
        lengths = np.fromiter(map(len, file), np.int64)
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(lengths) else lengths


def _ssp(corpus: _Documents, number: int, draw: Draw) -> Iterator[dict[str, Any]]:
    document = corpus.paragraphs(number)
    for place, paragraph in enumerate(document):
        if len(paragraph) < 2:
            continue
        left, right = _two_spans(paragraph, draw)
        yield _row(left, right, 1)
        # As long as the right one, where there are as many: length says nothing.
        cut = partial(_span, length=len(right), draw=draw)
        yield from _negatives(corpus, number, document, place, draw, left, cut)


def _sp(corpus: _Documents, number: int, draw: Draw) -> Iterator[dict[str, Any]]:
    document = corpus.paragraphs(number)
    for place, paragraph in enumerate(document):
        if len(paragraph) < 2:
            continue
        left, rest = _divided(paragraph, draw)
        yield _row(left, rest, 1)
        # Also without a span, lest a whole paragraph give itself away.
        yield from _negatives(
            corpus, number, document, place, draw, left, partial(_rest, draw=draw)
        )


def _psd(corpus: _Documents, number: int, draw: Draw) -> Iterator[dict[str, Any]]:
    document = corpus.paragraphs(number)
    if len(document) < 2:
        return
    left, right = draw.sample(document, 2)
    yield _row(left, right, 1)
    for _ in range(NEGATIVES):
        yield _row(left, corpus.elsewhere(number, draw), 0)


OBJECTIVES = {"ssp": _ssp, "sp": _sp, "psd": _psd}


def _negatives(
    corpus: _Documents,
    number: int,
    document: Sequence[Paragraph],
    place: int,
    draw: Draw,
    left: Sequence[str],
    cut: Callable[[Paragraph], Sequence[str]],
) -> Iterator[dict[str, Any]]:
    others = [one for at, one in enumerate(document) if at != place and one != document[place]]
    hard = draw.sample(others, min(HARD, len(others)))
    easy = [corpus.elsewhere(number, draw) for _ in range(NEGATIVES - len(hard))]
    for is_hard, some in ((True, hard), (False, easy)):
        for other in some:
            yield _row(left, cut(other), 0, hard=is_hard)


def _rest(paragraph: Paragraph, draw: Draw) -> Sequence[str]:
    return _divided(paragraph, draw)[1]


def _span(paragraph: Paragraph, length: int, draw: Draw) -> Sequence[str]:
    length = min(length, len(paragraph))
    start = draw.randint(0, len(paragraph) - length)
    return paragraph[start : start + length]


def _two_spans(paragraph: Paragraph, draw: Draw) -> tuple[Sequence[str], Sequence[str]]:
    """Disjoint, in either order."""
    left = draw.randint(1, min(LONGEST_LEFT, len(paragraph) - 1))
    right = draw.randint(1, min(LONGEST_RIGHT, len(paragraph) - left))
    free = len(paragraph) - left - right
    before = draw.randint(0, free)
    between = draw.randint(0, free - before)
    left_first = draw.random() < 0.5
    first, second = (left, right) if left_first else (right, left)
    middle = before + first + between
    spans = paragraph[before : before + first], paragraph[middle : middle + second]
    return spans if left_first else spans[::-1]


def _divided(paragraph: Paragraph, draw: Draw) -> tuple[Sequence[str], Sequence[str]]:
    """A span, and what is left of the paragraph; of a single sentence all of it is left."""
    if len(paragraph) < 2:
        return paragraph, paragraph
    length = draw.randint(1, min(LONGEST_LEFT, len(paragraph) - 1))
    start = draw.randint(0, len(paragraph) - length)
    return paragraph[start : start + length], paragraph[:start] + paragraph[start + length :]


def _row(
    left: Sequence[str], right: Sequence[str], label: int, *, hard: bool = False
) -> dict[str, Any]:
    row = {"left": " ".join(left), "right": " ".join(right), "label": label}
    return {**row, "hard": hard} if not label else row
