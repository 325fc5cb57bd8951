"""TREC's judgments and topics. Ids hold no white space, so they need no quotes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from exports.formats.batch import Batch
from exports.formats.format import Format, Snippet, Write
from exports.layout.schemas import RecordColumn
from retrieval.ranking.records import QueryRecord


@contextmanager
def trec(folder: Path, split: str, columns: Sequence[RecordColumn]) -> Iterator[Write]:
    """The runs, of each retriever and of the baselines, are `exports.evaluation.baselines`'."""
    with qrels(folder, split) as judged, topics(folder, split) as asked:

        def write(batch: Batch) -> None:
            judged(batch)
            asked(batch)

        yield write


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


TREC = Format(
    key="trec",
    title="TREC",
    description=(
        "Judgments, topics, and the runs of the retriever and of BM25, for ir_measures, ranx and "
        "trec_eval."
    ),
    media={".qrels": "text/plain", ".run": "text/plain"},
    open=trec,
    snippets=(
        Snippet(
            "ir_measures",
            "ir_measures",
            "python",
            """\
import ir_measures
from ir_measures import AP, RR, P, Success

qrels = list(ir_measures.read_trec_qrels("$folder/trec/test.qrels"))
run = list(ir_measures.read_trec_run("$folder/trec/test.retriever.run"))
print(ir_measures.calc_aggregate([P @ 1, AP, RR, Success @ 5], qrels, run))
""",
        ),
        Snippet(
            "ranx",
            "ranx",
            "python",
            """\
from ranx import Qrels, Run, evaluate

qrels = Qrels.from_file("$folder/trec/test.qrels", kind="trec")
run = Run.from_file("$folder/trec/test.retriever.run", kind="trec")
print(evaluate(qrels, run, ["precision@1", "map", "mrr", "hit_rate@5"], make_comparable=True))
""",
        ),
    ),
)
