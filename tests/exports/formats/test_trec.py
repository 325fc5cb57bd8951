"""Judgments and topics, read by ir_measures and ranx."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from ir_measures import AP, RR, P, Success

from retrieval.ranking.records import CandidateRecord, QueryRecord
from tests.exports.formats.releases import hostile_split, queries, rows, write_release
from tests.support.examples import examples

# P@1 of 1/2, MRR of (1 + 1/2) / 2, MAP of ((1/1 + 2/3) / 2 + 1/2) / 2.
LABELS = {"q1": [1, 0, 1], "q2": [0, 1]}
BY_HAND = {"P@1": 0.5, "RR": 0.75, "AP": (5 / 6 + 1 / 2) / 2, "Success@5": 1.0}
READ_BY_RANX = """
import json, sys
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(sys.argv[1], kind="trec")
run = Run.from_file(sys.argv[2], kind="trec")
names = ["precision@1", "mrr", "map", "hit_rate@5"]
scores = evaluate(qrels, run, names, make_comparable=True)
labels = {query: {one: int(label) for one, label in found.items()}
          for query, found in qrels.to_dict().items()}
print(json.dumps([labels, {name: float(scores[name]) for name in names}]))
"""


@given(queries())
@hypothesis_settings(max_examples=examples(30), deadline=None)
def test_ir_measures_reads_the_labels_of_the_jsonl(
    tmp_path_factory: pytest.TempPathFactory, split: list[QueryRecord]
) -> None:
    folder = write_release(tmp_path_factory.mktemp("release"), split)
    found = ir_measures.read_trec_qrels(str(folder / "trec" / "train.qrels"))
    assert [(one.query_id, one.doc_id, one.relevance) for one in found] == [
        (row["query_id"], row["candidate_id"], row["label"]) for row in rows(folder)
    ]


def test_measures_over_the_qrels_are_those_made_by_hand(tmp_path: Path) -> None:
    folder = write_release(tmp_path, small_split())
    run = list(ir_measures.read_trec_run(str(write_run(folder))))
    qrels = list(ir_measures.read_trec_qrels(str(folder / "trec" / "train.qrels")))
    found = ir_measures.calc_aggregate([P @ 1, RR, AP, Success @ 5], qrels, run)
    assert {str(name): value for name, value in found.items()} == pytest.approx(BY_HAND)


@pytest.mark.slow
def test_ranx_reads_the_same_labels_and_measures_the_same(tmp_path: Path) -> None:
    """Without its compiler, which would take half a minute for two queries."""
    folder = write_release(tmp_path, small_split())
    report = subprocess.run(
        [sys.executable, "-c", READ_BY_RANX, folder / "trec" / "train.qrels", write_run(folder)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    labels, scores = json.loads(report.stdout.splitlines()[-1])
    assert labels == {
        query: {f"{query}-c{rank}": label for rank, label in enumerate(found, start=1)}
        for query, found in LABELS.items()
    }
    assert list(scores.values()) == pytest.approx(list(BY_HAND.values()))


@given(queries())
@hypothesis_settings(max_examples=examples(40), deadline=None)
def test_a_topic_is_a_line_with_one_tab_whatever_its_text(
    tmp_path_factory: pytest.TempPathFactory, split: list[QueryRecord]
) -> None:
    folder = write_release(tmp_path_factory.mktemp("release"), split)
    lines = (folder / "trec" / "train.topics.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t") for line in lines] == [
        [query.id, " ".join(query.query.split())] for query in split
    ]


def test_every_hostile_query_is_a_topic(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split())
    lines = (folder / "trec" / "train.topics.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(hostile_split())
    assert all(line.count("\t") == 1 for line in lines)


def test_a_split_without_queries_has_no_judgment_and_no_topic(tmp_path: Path) -> None:
    folder = write_release(tmp_path, hostile_split())
    assert list(ir_measures.read_trec_qrels(str(folder / "trec" / "dev.qrels"))) == []
    assert (folder / "trec" / "dev.topics.tsv").read_bytes() == b""


def small_split() -> list[QueryRecord]:
    return [
        QueryRecord(query, "why?", [candidate(query, *one) for one in enumerate(labels, start=1)])
        for query, labels in LABELS.items()
    ]


def candidate(query: str, rank: int, label: int) -> CandidateRecord:
    return CandidateRecord(f"{query}-c{rank}", "q", "a", rank, 1 - rank / 10, label, 2, 0)


def write_run(folder: Path) -> Path:
    """The candidates in the retriever's order."""
    path = folder / "retriever.run"
    lines = (
        f"{row['query_id']} Q0 {row['candidate_id']} {row['rank']} {row['score']} retriever\n"
        for row in rows(folder)
    )
    path.write_text("".join(lines))
    return path
