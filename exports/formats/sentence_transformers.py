"""What the losses of sentence-transformers take: one JSON object a line, a column for each text.

The anchor is the query, the other texts are its candidates' questions. Negatives are the hardest:
those that the retriever ranked highest. No query makes more rows than it has candidates.

pair      a row for each positive
triplet   each positive and each of the hardest negatives in turn, until all have had theirs
n-tuple   a row for each positive, with the same NEGATIVES hardest; queries with fewer are left out
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from core.text.clean import normalise_question
from exports.formats.batch import Batch
from exports.formats.format import Format, Snippet, Write
from exports.layout.schemas import RecordColumn
from retrieval.ranking.records import QueryRecord

NEGATIVES = 5
LAYOUTS = ("pair", "triplet", "n-tuple")
Row = dict[str, str]


@dataclass(frozen=True)
class Texts:
    """A query's questions, each once, the hardest of the negatives first."""

    anchor: str
    positives: list[str]
    negatives: list[str]


@contextmanager
def layouts(folder: Path, split: str, columns: Sequence[RecordColumn]) -> Iterator[Write]:
    parent = folder / "sentence-transformers"
    for name in LAYOUTS:
        (parent / name).mkdir(exist_ok=True)
    with (
        (parent / "pair" / f"{split}.jsonl").open("wb") as pair_file,
        (parent / "triplet" / f"{split}.jsonl").open("wb") as triplet_file,
        (parent / "n-tuple" / f"{split}.jsonl").open("wb") as n_tuple_file,
    ):

        def write(batch: Batch) -> None:
            texts = [_texts(query) for query in batch.queries]
            pair_file.write(_lines(row for each in texts for row in pairs(each)))
            triplet_file.write(_lines(row for each in texts for row in triplets(each)))
            n_tuple_file.write(_lines(row for each in texts for row in n_tuples(each)))

        yield write


def pairs(texts: Texts) -> Iterator[Row]:
    for positive in texts.positives:
        yield {"anchor": texts.anchor, "positive": positive}


def triplets(texts: Texts) -> Iterator[Row]:
    positives, negatives = texts.positives, texts.negatives
    if positives and negatives:
        for number in range(max(len(positives), len(negatives))):
            yield {
                "anchor": texts.anchor,
                "positive": positives[number % len(positives)],
                "negative": negatives[number % len(negatives)],
            }


def n_tuples(texts: Texts) -> Iterator[Row]:
    if len(texts.negatives) == NEGATIVES:
        negatives = {f"negative_{n}": text for n, text in enumerate(texts.negatives, start=1)}
        for positive in texts.positives:
            yield {"anchor": texts.anchor, "positive": positive, **negatives}


def _texts(query: QueryRecord) -> Texts:
    """Candidates may share a question and differ in the answer, and so in the label.

    No loss can tell such a negative from its positive: it is left out.
    """
    ranked = sorted(query.candidates, key=lambda one: one.rank)
    positives = list(dict.fromkeys(one.question for one in ranked if one.label))
    same = {normalise_question(text) for text in (query.query, *positives)}
    negatives: list[str] = []
    for one in ranked:
        if not one.label and (key := normalise_question(one.question)) not in same:
            same.add(key)
            negatives.append(one.question)
    return Texts(query.query, positives, negatives[:NEGATIVES])


def _lines(rows: Iterable[Row]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


SENTENCE_TRANSFORMERS = Format(
    key="sentence-transformers",
    title="sentence-transformers",
    description=(
        "Pairs, triplets and n-tuples of questions with hard negatives, in the columns that its "
        "losses take."
    ),
    media={},
    open=layouts,
    snippets=(
        Snippet(
            "sentence-transformers",
            "sentence-transformers",
            "python",
            """\
import os

from datasets import load_dataset

# Each goes to SentenceTransformerTrainer as it is, with MultipleNegativesRankingLoss.
train = {}
for layout in ("pair", "triplet", "n-tuple"):
    path = f"$folder/sentence-transformers/{layout}/train.jsonl"
    if os.path.getsize(path):  # datasets loads no file without rows
        train[layout] = load_dataset("json", data_files=path, split="train")
        print(layout, train[layout].num_rows, train[layout].column_names)
""",
        ),
    ),
)
