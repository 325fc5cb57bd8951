"""The steps of `benchmarks.release.size`, each run in a process of its own."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import orjson
import pyarrow.parquet as pq
from django.conf import settings
from django.db import connection, transaction

from annotation.pipeline.setup.create import get_campaign
from benchmarks.campaign.inputs import NAME
from benchmarks.campaign.steps import Taken
from benchmarks.release.record import load_finished_record
from exports.extract.extract import extract
from exports.formats.batch import batches
from exports.formats.parquet import parquet
from exports.formats.trec import qrels
from exports.formats.write import write_formats
from exports.layout.files import JUDGMENTS
from exports.layout.schemas import record_columns
from exports.splits.assign import SplitAssignment, assign_splits, write_splits
from exports.splits.splits import SPLITS
from retrieval.ranking.records import read as read_records

FOLDER = Path(settings.DATA_DIR) / "release"
EXTRACT = FOLDER / "extract"
ASSIGNED = FOLDER / "assigned.json"
BARE_SQL = """
    SELECT q.key, q.text, c.rank, c.score, p.pair_key, p.question, p.answer, t.label, t.votes
    FROM annotation_triplet t
    JOIN retrieval_candidate c ON c.id = t.candidate_id
    JOIN retrieval_query q ON q.id = c.query_id
    JOIN retrieval_qapair p ON p.id = c.pair_id
    WHERE t.label IS NOT NULL
"""
BARE_KEYS = ("id", "query", "rank", "score", "pair", "question", "answer", "label", "votes")


def record(taken: Taken) -> None:
    with taken.part("load the record"):
        taken.rows, taken.unit = load_finished_record(get_campaign(NAME)), "judgments"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the server does by itself a minute after such a change


def bare(taken: Taken) -> None:
    """The floor: a server cursor, a line a triplet, in no order, without the votes."""
    FOLDER.mkdir(exist_ok=True)
    taken.unit = "triplets"
    with (
        taken.part("bare cursor to JSONL"),
        transaction.atomic(),
        connection.chunked_cursor() as cursor,
        (FOLDER / "bare.jsonl").open("wb") as file,
    ):
        cursor.execute(BARE_SQL)
        while rows := cursor.fetchmany(10_000):
            file.writelines(
                orjson.dumps(dict(zip(BARE_KEYS, row, strict=True))) + b"\n" for row in rows
            )
            taken.rows += len(rows)


def read(taken: Taken) -> None:
    FOLDER.mkdir(exist_ok=True)
    with taken.part("extract"):
        extract(get_campaign(NAME), EXTRACT, partial=False)
    taken.rows, taken.unit = pq.ParquetFile(EXTRACT / JUDGMENTS).metadata.num_rows, "judgments"


def place(taken: Taken) -> None:
    """By texts and shared positives, without vectors: their encoder is another benchmark's."""
    with taken.part("clusters and splits"):
        assignment = assign_splits(EXTRACT, way="clusters", before={}, encode=None)
    ASSIGNED.write_bytes(orjson.dumps(list(assignment.rows)))
    taken.rows, taken.unit = len(assignment.rows), "queries"


def write(taken: Taken) -> None:
    assignment = SplitAssignment(orjson.loads(ASSIGNED.read_bytes()), {})
    for name in ("parquet", "trec"):
        (FOLDER / name).mkdir(exist_ok=True)
    with taken.part("JSONL"):
        write_splits(EXTRACT, FOLDER, assignment)
    with taken.part("Parquet and qrels"):
        for split in SPLITS:
            with parquet(FOLDER, split, record_columns()) as rows, qrels(FOLDER, split) as judged:
                for batch in batches(read_records(FOLDER / f"{split}.jsonl")):
                    rows(batch)
                    judged(batch)
    taken.rows, taken.unit = len(assignment.rows), "queries"


def formats(taken: Taken) -> None:
    with taken.part("all formats"):
        write_formats(FOLDER)
    taken.rows, taken.unit = len(orjson.loads(ASSIGNED.read_bytes())), "queries"


STEPS: dict[str, Callable[[Taken], None]] = {
    "record": record,
    "bare": bare,
    "extract": read,
    "place": place,
    "write": write,
    "formats": formats,
}


def main() -> None:
    (name,) = sys.argv[1:]
    taken = Taken()
    STEPS[name](taken)
    print(json.dumps(asdict(taken)))
