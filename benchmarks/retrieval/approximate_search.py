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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import cast

import faiss
import numpy as np
import torch
from django.conf import settings

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks import folders
from benchmarks.quality.search import encoded, loaded
from benchmarks.quality.tasks import MINILM, answers, missing
from benchmarks.retrieval.vectors import store_of
from retrieval.index.approximate.engine_index import EngineIndex
from retrieval.index.approximate.faiss_index import FaissIndex
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.lazy import index_class
from retrieval.index.port import VectorIndex
from retrieval.index.recall import measure
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors

K = 30
HELD_OUT = 1000
BLOCK = 25
OURS = "ours, settled"

Search = Callable[[Vectors], object]
# Kind, what an index is built with, and the efforts that it is asked with beside the tuned one.
Point = tuple[str, dict[str, object], tuple[int, ...]]
POINTS: Sequence[Point] = (
    ("hnsw", {}, (70, 85, 100, 150, 250)),
    ("hnsw", {"ef_construction": 100}, (70, 150, 250)),
    ("hnsw", {"links": 16}, (70, 150, 250)),
    ("ivf", {}, (32, 64, 128, 256, 512)),
    ("milvus", {}, (70, 150, 250)),  # milvus-lite, in a file
)


@dataclass(frozen=True)
class Scale:
    pairs: int = 200_000  # at most: all there are
    turns: int = 8
    points: Sequence[Point] = POINTS
    model: str = MINILM


FEW_POINTS: Sequence[Point] = (
    ("hnsw", {"ef_construction": 50}, (70,)),
    ("ivf", {}, (4,)),
    ("milvus", {}, (150,)),
)
SMALL = Scale(pairs=2_000, turns=1, points=FEW_POINTS)


@dataclass(frozen=True)
class Corpus:
    store: VectorStore
    queries: Vectors
    excluded: Mask


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.retrieval.approximate_search", description=__doc__
    )
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    parser.add_argument("--vectors", type=Path, help="of these, an .npy of float32")
    options = parser.parse_args()
    scale = SMALL if options.small else Scale()
    results = of_file(options.vectors, scale) if options.vectors else of_pairs(scale)
    print(json.dumps(results, indent=2))
    return 0


def run(size: str) -> dict[str, object]:
    return of_pairs(SMALL if size == "small" else Scale())


def of_pairs(scale: Scale) -> dict[str, object]:
    if missing():
        return {"skipped": "the real pairs are not here"}
    task, encoder = answers(HELD_OUT), loaded(scale.model, "auto")
    store = encoded(task.corpus[: scale.pairs], "QQ", encoder)
    queries = encoder.encode_questions(task.queries)
    return measured(Corpus(store, queries, np.zeros(len(store), np.bool_)), scale)


def of_file(path: Path, scale: Scale) -> dict[str, object]:
    """Some of the rows are the questions, and all rows equal to them are held out."""
    vectors = np.load(path)[: scale.pairs]
    folder = folders.fresh("approximate")
    try:
        store = store_of(folder, [vectors], vectors.shape[1], "float32")
        drawn = np.random.default_rng(1).choice(len(vectors), min(HELD_OUT, len(vectors) // 20))
        rows = {row.tobytes() for row in vectors[drawn]}
        queries = np.stack([np.frombuffer(row, np.float32) for row in sorted(rows)])
        held_out = np.array([row.tobytes() in rows for row in store.rows(np.arange(len(store)))])
        return measured(Corpus(store, queries, held_out), scale)
    finally:
        shutil.rmtree(folder)


def measured(corpus: Corpus, scale: Scale) -> dict[str, object]:
    corpus.excluded.flags.writeable = False
    rivals = exact_searches(corpus)
    points = []
    for name, parameters, efforts in scale.points:
        points += of_index(corpus, scale.turns, name, parameters, efforts, rivals)
    return {
        "k": K,
        "rows": len(corpus.store),
        "dimension": corpus.store.identity.dimension,
        "held_out_rows": int(corpus.excluded.sum()),
        "queries": len(corpus.queries),
        "turns": [scale.turns, BLOCK],
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
    turns: int,
    name: str,
    parameters: Mapping[str, object],
    efforts: tuple[int, ...],
    rivals: Mapping[str, Search],
) -> list[dict[str, object]]:
    kind = cast(type[FaissIndex] | type[EngineIndex], index_class(name))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        settings.MILVUS = f"{folder}/milvus.db"
        began = time.perf_counter()
        built = kind.build(corpus.store, parameters)
        seconds = time.perf_counter() - began
        tuned = int(str(built.parameters[kind.tuned]))
        built.save(Path(folder))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        points = []
        for effort in dict.fromkeys((tuned, *efforts)):
            with_effort = {**built.parameters, kind.tuned: effort}
            index = kind.load(Path(folder), corpus.store, with_effort)
            points.append(of_effort(corpus, turns, index, rivals) | {"tuned": effort == tuned})
    per_row = round(size / len(corpus.store), 1)
    facts = {"kind": name, "build_seconds": round(seconds, 1), "bytes_per_row": per_row}
    return [facts | point for point in points]


def of_effort(
    corpus: Corpus, turns: int, index: VectorIndex, rivals: Mapping[str, Search]
) -> dict[str, object]:
    own = np.full(len(corpus.queries), -1)
    recall = measure(index, corpus.store, corpus.queries, own, corpus.excluded, K)
    width = 2 * K + 10
    searches = {
        **rivals,
        "this": settled(index, corpus),
        "this, unsettled": lambda query: index.search(query, width, corpus.excluded),
    }
    ms = {name: 1000 * each for name, each in one_by_one(searches, corpus, turns).items()}
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


def one_by_one(searches: Mapping[str, Search], corpus: Corpus, turns: int) -> dict[str, float]:
    """Median seconds of a question, each search on blocks of the same questions in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(turns):
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
