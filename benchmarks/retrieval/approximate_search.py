"""Recall against speed of the approximate indexes, one question at a time, beside exact search.

Real questions that are held out of the rows, their copies too. Every index is asked as a search of
the site is: the mask inside, the 30 nearest scored again from the store. Blocks of the same
questions take turns, so that whatever else the machine does falls on all; figures are medians.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import faiss
import numpy as np
import torch

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks.quality.compare import FOLDER, MINILM
from benchmarks.quality.search import encoded, loaded
from benchmarks.quality.tasks import answers, missing
from benchmarks.retrieval.vectors import store_of
from demo.processes import ROOT
from retrieval.index.approximate.faiss_index import FaissIndex
from retrieval.index.approximate.hnsw import HnswIndex
from retrieval.index.approximate.ivf import IvfIndex
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.port import VectorIndex
from retrieval.index.recall import measure
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors

K = 30
HELD_OUT = 1000
BLOCK = 25
TURNS = {"small": 1, "full": 8}
PAIRS = {"small": 2_000, "full": 200_000}  # at most: all there are
# What each index is built with, and the efforts that it is asked with; and the one that is tuned.
POINTS: Mapping[str, list[tuple[type[FaissIndex], dict[str, object], tuple[int, ...]]]] = {
    "small": [(HnswIndex, {"ef_construction": 50}, (70,)), (IvfIndex, {}, (4,))],
    "full": [
        (HnswIndex, {}, (70, 85, 100, 150, 250)),
        (HnswIndex, {"ef_construction": 100}, (70, 150, 250)),
        (HnswIndex, {"links": 16}, (70, 150, 250)),
        (IvfIndex, {}, (32, 64, 128, 256, 512)),
    ],
}
OURS = "ours, settled"

Search = Callable[[Vectors], object]


@dataclass(frozen=True)
class Corpus:
    store: VectorStore
    queries: Vectors
    excluded: Mask
    turns: int


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.retrieval.approximate_search", description=__doc__
    )
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    parser.add_argument("--vectors", type=Path, help="of these, an .npy of float32")
    options = parser.parse_args()
    size = "small" if options.small else "full"
    results = of_file(options.vectors, size) if options.vectors else run(size)
    print(json.dumps(results, indent=2))
    return 0


def run(size: str) -> dict[str, object]:
    if missing():
        return {"skipped": "the real pairs are not here"}
    task, encoder = answers(HELD_OUT), loaded(MINILM, "auto")
    store = encoded(task.corpus[: PAIRS[size]], "QQ", encoder, FOLDER)
    queries = encoder.encode_questions(task.queries)
    return measured(Corpus(store, queries, np.zeros(len(store), np.bool_), TURNS[size]), size)


def of_file(path: Path, size: str) -> dict[str, object]:
    """Some of the rows are the questions, and all rows equal to them are held out."""
    vectors = np.load(path)[: PAIRS[size]]
    folder = ROOT / "var" / "bench" / "approximate"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        store = store_of(folder, [vectors], vectors.shape[1], "float32")
        drawn = np.random.default_rng(1).choice(len(vectors), min(HELD_OUT, len(vectors) // 20))
        rows = {row.tobytes() for row in vectors[drawn]}
        queries = np.stack([np.frombuffer(row, np.float32) for row in sorted(rows)])
        held_out = np.array([row.tobytes() in rows for row in store.rows(np.arange(len(store)))])
        return measured(Corpus(store, queries, held_out, TURNS[size]), size)
    finally:
        shutil.rmtree(folder)


def measured(corpus: Corpus, size: str) -> dict[str, object]:
    corpus.excluded.flags.writeable = False
    rivals = exact_searches(corpus)
    points = []
    for kind, parameters, efforts in POINTS[size]:
        points += of_index(corpus, kind, parameters, efforts, rivals)
    return {
        "k": K,
        "rows": len(corpus.store),
        "dimension": corpus.store.identity.dimension,
        "held_out_rows": int(corpus.excluded.sum()),
        "queries": len(corpus.queries),
        "turns": [corpus.turns, BLOCK],
        "points": points,
        "load_average": os.getloadavg(),
    }


def exact_searches(corpus: Corpus) -> dict[str, Search]:
    """Of one question. The rivals exclude nothing and score nothing again."""
    rows = corpus.store.rows(np.arange(len(corpus.store)))
    tensor, flat = torch.from_numpy(rows), faiss.IndexFlatIP(rows.shape[1])
    flat.add(rows)
    return {
        OURS: settled(ExactIndex(corpus.store), corpus),
        "torch: product and top-k": lambda query: torch.topk(
            tensor @ torch.from_numpy(query[0]), K
        ),
        "FAISS as it comes": lambda query: flat.search(query, K),
    }


def settled(index: VectorIndex, corpus: Corpus) -> Search:
    return lambda query: nearest(index, corpus.store, query, K, corpus.excluded)


def of_index(
    corpus: Corpus,
    kind: type[FaissIndex],
    parameters: Mapping[str, object],
    efforts: tuple[int, ...],
    rivals: Mapping[str, Search],
) -> list[dict[str, object]]:
    began = time.perf_counter()
    built = kind.build(corpus.store, parameters)
    seconds = time.perf_counter() - began
    tuned = int(str(built.parameters[kind.tuned]))
    with tempfile.TemporaryDirectory() as folder:
        built.save(Path(folder))
        size = (Path(folder) / f"{kind.kind}.faiss").stat().st_size
        points = []
        for effort in dict.fromkeys((tuned, *efforts)):
            with_effort = {**built.parameters, kind.tuned: effort}
            index = kind.load(Path(folder), corpus.store, with_effort)
            points.append(of_effort(corpus, index, rivals) | {"tuned": effort == tuned})
    per_row = round(size / len(corpus.store), 1)
    facts = {"kind": kind.kind, "build_seconds": round(seconds, 1), "bytes_per_row": per_row}
    return [facts | point for point in points]


def of_effort(corpus: Corpus, index: FaissIndex, rivals: Mapping[str, Search]) -> dict[str, object]:
    own = np.full(len(corpus.queries), -1)
    recall = measure(index, corpus.store, corpus.queries, own, corpus.excluded, K)
    width = 2 * K + 10
    searches = {
        **rivals,
        "this": settled(index, corpus),
        "this, unsettled": lambda query: index.search(query, width, corpus.excluded),
    }
    ms = {name: 1000 * each for name, each in one_by_one(searches, corpus).items()}
    best = min(rivals, key=ms.__getitem__)
    return {
        "parameters": dict(index.parameters),
        "recall": asdict(recall),
        "one_query_ms": round(ms["this"], 3),
        "unsettled_ms": round(ms["this, unsettled"], 3),
        "queries_a_second": round(1000 / ms["this"]),
        "exact_ms": {name: round(ms[name], 3) for name in rivals},
        "times_the_best_exact": round(ms[best] / ms["this"], 1),
    }


def one_by_one(searches: Mapping[str, Search], corpus: Corpus) -> dict[str, float]:
    """Median seconds of a question, each search on blocks of the same questions in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(corpus.turns):
        rows = range(turn * BLOCK, (turn + 1) * BLOCK)
        block = np.take(corpus.queries, rows, axis=0, mode="wrap")
        for name, search in searches.items():
            search(block[:1])  # what the search before left in the caches is not its fault
            for query in block:
                began = time.perf_counter()
                search(query[None])
                seconds[name].append(time.perf_counter() - began)
    return {name: median(each) for name, each in seconds.items()}


if __name__ == "__main__":
    sys.exit(main())
