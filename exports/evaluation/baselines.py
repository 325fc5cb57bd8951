"""Two systems that every release is scored with: the retriever that built it, and BM25.

Both are runs in the release, a TREC file for each split; the figures are computed from these.
BM25's corpus is all candidates of the release, each with its question and answer as one text; it
ranks each query's own candidates. Pure.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from exports.evaluation.bm25 import Corpus, Scorer
from exports.evaluation.scoring import figures, score_run, split_labels
from exports.splits.splits import SPLITS
from retrieval.ranking.bootstrap import LEVEL, REPLICATES, SEED
from retrieval.ranking.read_runs import run_path
from retrieval.ranking.records import CandidateRecord, QueryRecord, read
from retrieval.ranking.runs import in_order, run_line

BM25 = "bm25"
RETRIEVER = "retriever"
SYSTEMS = (BM25, RETRIEVER)
SCORED = ("dev", "test")
# The last of a score's decimals in a run: 32-bit floats tell it apart up to LARGEST, and no
# cosine lies above.
STEP = 1e-6
LARGEST = 1.5


@dataclass(frozen=True)
class _Query:
    """What BM25 needs of a query: its words, and its candidates' rows in the corpus."""

    id: str
    words: array[int]
    rows: array[int]


def write_runs(folder: Path) -> None:
    """trec/<split>.<system>.run of each split and both systems, reading each split once."""
    _write(folder, _retriever_run)


def write_bm25_runs(folder: Path) -> None:
    """The same of a set that no retriever built."""
    _write(folder, _queries)


def _write(folder: Path, read_split: Callable[[Path, str, Corpus], list[_Query]]) -> None:
    run_path(folder, SPLITS[0], BM25).parent.mkdir(exist_ok=True)
    corpus = Corpus()
    queries = {split: read_split(folder, split, corpus) for split in SPLITS}
    scorer, ids = Scorer(corpus), list(corpus.ids)
    for split, of_split in queries.items():
        with _new(folder, split, BM25) as file:
            for query in of_split:
                file.writelines(_bm25_lines(query, ids, scorer))


def baselines(folder: Path) -> dict[str, object]:
    """Each split's figures, null where it is empty."""
    return {
        "way": "QRC",
        "level": LEVEL,
        "replicates": REPLICATES,
        "seed": SEED,
        "splits": {split: _figures(folder, split) for split in SCORED},
    }


def _figures(folder: Path, split: str) -> dict[str, object] | None:
    labels = split_labels(folder, split)
    if not labels:
        return None
    runs = {system: score_run(run_path(folder, split, system), labels) for system in SYSTEMS}
    return {system: figures(list(run.rankings.values()), "qrc") for system, run in runs.items()}


def _retriever_run(folder: Path, split: str, corpus: Corpus) -> list[_Query]:
    """Writes it; what BM25 needs of the same queries is kept."""
    queries = []
    with _new(folder, split, RETRIEVER) as file:
        for record in read(folder / f"{split}.jsonl"):
            file.writelines(_retriever_lines(record))
            queries.append(_kept(record, corpus))
    return queries


def _queries(folder: Path, split: str, corpus: Corpus) -> list[_Query]:
    return [_kept(record, corpus) for record in read(folder / f"{split}.jsonl")]


def _kept(record: QueryRecord, corpus: Corpus) -> _Query:
    rows = array("i")
    for candidate in record.candidates:
        rows.append(corpus.add(candidate.id, f"{candidate.question} {candidate.answer}"))
    return _Query(record.id, corpus.numbered(record.query), rows)


def _retriever_lines(record: QueryRecord) -> Iterator[str]:
    scores = falling_scores(record.candidates)
    for rank, (candidate, score) in enumerate(zip(record.candidates, scores, strict=True), 1):
        yield run_line(record.id, candidate.id, rank=rank, score=score, system=RETRIEVER)


def falling_scores(candidates: Sequence[CandidateRecord]) -> list[float]:
    """The retriever's, made to fall from rank to rank, or -1, -2 ... where no cosines rank them.

    Identical questions have one cosine, and trec_eval would order them by their ids: the later
    one's score is lowered to one step below the one before it.
    """
    scores: list[float] = []
    for candidate in candidates:
        if candidate.found_by or candidate.score is None or abs(candidate.score) > LARGEST:
            return [-float(rank) for rank in range(1, len(candidates) + 1)]
        ceiling = scores[-1] - STEP if scores else LARGEST
        scores.append(round(min(candidate.score, ceiling), 6))
    return scores


def _bm25_lines(query: _Query, ids: Sequence[str], scorer: Scorer) -> Iterator[str]:
    scores = np.round(scorer.score(query.words, query.rows), 6).tolist()
    best_first = in_order(scores, [ids[row] for row in query.rows])
    for rank, (candidate, score) in enumerate(best_first, 1):
        yield run_line(query.id, candidate, rank=rank, score=score, system=BM25)


def _new(folder: Path, split: str, system: str) -> TextIO:
    return run_path(folder, split, system).open("w", encoding="utf-8", newline="")
