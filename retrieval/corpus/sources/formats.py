"""The formats that sources of q/a pairs are published in; docs/sources.md has them in full."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.files.open import check_is_file
from core.files.rows import Column, Row, not_empty, read_rows
from core.progress import Progress
from retrieval.corpus.sources import communities, question_answering
from retrieval.corpus.sources.lazy import parquet_rows
from retrieval.corpus.sources.records import Extract, check_names, extracted_rows, read_records

Read = Callable[[Path, Progress], Iterator[Row]]
PARQUET = ".parquet"
PAIR: tuple[Column, ...] = (("question",), ("answer",))


@dataclass(frozen=True)
class Format:
    read: Read
    # What the publisher states; empty where nothing could be found.
    license: str = ""


def read_plain(path: Path, progress: Progress, needs: Sequence[Column] = PAIR) -> Iterator[Row]:
    """By the file's ending: Parquet, jsonl, csv or tsv."""
    if path.name.lower().endswith(PARQUET):
        rows = not_empty(path, parquet_rows(path, progress))
        return _checked(path, rows, "parquet", needs)
    return read_rows(path, required=needs, others=[PARQUET], progress=progress)


def _checked(
    path: Path, rows: Iterator[Row], format: str, needs: Sequence[Column]
) -> Iterator[Row]:
    first = next(rows)
    if not first.fault:
        check_names(path, first.fields, format=format, needs=needs)
    yield first
    yield from rows


def _records(format: str, needs: Sequence[Column], extract: Extract) -> Read:
    return partial(read_records, format=format, needs=needs, extract=extract)


def table_format(format: str, needs: Sequence[Column], extract: Extract) -> Read:
    """Rows of a plain file with these columns."""

    def read(path: Path, progress: Progress) -> Iterator[Row]:
        rows = read_plain(path, progress, needs)
        return extracted_rows(_checked(path, rows, format, needs), extract)

    return read


FORMATS = {
    "covidqa": Format(question_answering.read_squad, license="Apache-2.0"),
    "eli5": Format(
        _records(
            "eli5",
            (("title", "document"), ("answers", "answer", "comments")),
            communities.eli5,
        )
    ),
    "gooaq": Format(
        _records(
            "gooaq", (("question",), ("answer",), ("short_answer",)), question_answering.gooaq
        ),
        license="non-commercial use only (README of allenai/gooaq)",
    ),
    "hotpotqa": Format(
        _records(
            "hotpotqa",
            (("_id", "id"), ("question",), ("supporting_facts", "context")),
            question_answering.hotpotqa,
        ),
        license="CC BY-SA 4.0",
    ),
    "natural-questions": Format(
        _records(
            "natural-questions",
            (("question_text",), ("document_text", "document_tokens"), ("annotations",)),
            question_answering.natural_questions,
        ),
        license="CC BY-SA 3.0",
    ),
    "nq-open": Format(
        _records("nq-open", PAIR, question_answering.open_answers), license="CC BY-SA 3.0"
    ),
    "paq": Format(_records("paq", PAIR, question_answering.open_answers), license="CC BY-SA 3.0"),
    "quora-match": Format(
        table_format(
            "quora-match", (("question2",), ("answer", "answer2")), communities.quora_match
        )
    ),
    "quoraqp": Format(
        table_format(
            "quoraqp",
            (("question1",), ("question2",), ("answer1", "answer2")),
            communities.quora_pairs,
        ),
    ),
    "squad": Format(question_answering.read_squad),
    "wikianswers": Format(communities.read_wikianswers),
    "wikiqa": Format(communities.read_wikiqa, license="Microsoft Research Data License"),
    "wqa": Format(table_format("wqa", (*PAIR, ("label",)), communities.labelled)),
}


def read_source(path: Path, format: str | None, progress: Progress) -> Iterator[Row]:
    """`format`: one of FORMATS; None goes by the file's ending."""
    check_is_file(path)
    read = FORMATS[format].read if format else read_plain
    return read(path, progress)
