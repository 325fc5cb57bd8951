"""TREC's judgments and topics. Ids hold no white space, so they need no quotes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exports.formats.batch import Batch
from exports.formats.writer import Write
from retrieval.ranking.records import QueryRecord


@contextmanager
def qrels(folder: Path, split: str) -> Iterator[Write]:
    with (folder / "trec" / f"{split}.qrels").open("wb") as file:

        def write(batch: Batch) -> None:
            file.write("".join(map(_judgments, batch.queries)).encode())

        yield write


@contextmanager
def topics(folder: Path, split: str) -> Iterator[Write]:
    with (folder / "trec" / f"{split}.topics.tsv").open("wb") as file:

        def write(batch: Batch) -> None:
            file.write("".join(map(_topic, batch.queries)).encode())

        yield write


def _judgments(query: QueryRecord) -> str:
    return "".join(f"{query.id} 0 {one.id} {one.label}\n" for one in query.candidates)


def _topic(query: QueryRecord) -> str:
    # Readers of topics know no quotes: a tab or a line break in the text would be one of theirs.
    return f"{query.id}\t{' '.join(query.query.split())}\n"
