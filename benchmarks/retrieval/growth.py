"""How a search slows from 0.1 to 6.3 million pairs (as the paper's Figure 3), for each index.

Made vectors in float16, in one store whose first shards are the smaller sizes. One question alone,
and many in bulk; of the approximate ones what they find too. A graph is built for the sizes up to
--graphs only, which is where the hours go.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks import folders
from benchmarks.retrieval.growth_plot import draw
from benchmarks.retrieval.vectors import store_of, unit
from retrieval.index.approximate.hnsw import HnswIndex
from retrieval.index.approximate.ivf import IvfIndex
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.port import VectorIndex
from retrieval.index.recall import measure
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors

K = 30
DIMENSION = 384
# Half of what tells texts apart is their topic, and few directions hold most of it. With these
# figures IVF and HNSW find as much as among as many of MiniLM's vectors of real questions.
TOPICS, DECAY = 20_000, 0.75
EXCLUDED = 0.002  # of the rows, as a campaign's held-out questions are


@dataclass(frozen=True)
class Scale:
    sizes: tuple[int, ...] = (100_000, 400_000, 1_600_000, 6_300_000)
    graphs: int = 1_600_000  # pairs
    alone: int = 200  # questions one by one, of an exact search a tenth
    bulk: int = 1024
    part: int = 2**18  # rows made at once


SMALL = Scale(sizes=(4_000, 16_000), graphs=4_000, alone=50, bulk=64, part=4_000)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.retrieval.growth", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    parser.add_argument("--sizes", type=_numbers, help="of the store, pairs, with commas between")
    parser.add_argument("--graphs", type=int, help="build graphs of so many pairs at most")
    options = parser.parse_args()
    scale = SMALL if options.small else Scale()
    sizes, graphs = options.sizes or scale.sizes, options.graphs or scale.graphs
    results = grown(replace(scale, sizes=sizes, graphs=graphs))
    if not options.small:
        draw(results["measured"], folders.RESULTS / "growth")
    print(json.dumps(results, indent=2))
    return 0


def run(size: str) -> dict[str, object]:
    if size == "small":
        return grown(SMALL)
    results = grown(Scale())
    draw(results["measured"], folders.RESULTS / "growth")
    return results


def grown(scale: Scale) -> dict[str, Any]:
    folder = folders.fresh("growth")
    try:
        whole = store_of(folder, made(scale, seed=1), DIMENSION, "float16")
        queries = next(made(scale, seed=2))[: scale.bulk]
        measured = [
            of_kind(kind, beginning(folder, whole, size), queries, scale)
            for size in scale.sizes
            for kind in (ExactIndex, HnswIndex, IvfIndex)
            if kind is not HnswIndex or size <= scale.graphs
        ]
    finally:
        shutil.rmtree(folder)
    return {"k": K, "dimension": DIMENSION, "dtype": "float16", "measured": measured}


def made(scale: Scale, *, seed: int) -> Iterator[Vectors]:
    """Other rows for another seed, of the same topics."""
    rng = np.random.default_rng(seed)
    spread = (np.arange(DIMENSION, dtype=np.float32) + 10) ** -DECAY
    dice = np.random.default_rng(0)
    centres = dice.standard_normal((TOPICS, DIMENSION), np.float32) * spread
    for start in range(0, max(scale.sizes), scale.part):
        size = min(scale.part, max(scale.sizes) - start)
        rows = rng.standard_normal((size, DIMENSION), np.float32) * spread
        rows += centres[rng.integers(0, TOPICS, size)]
        yield unit(rows)


def beginning(folder: Path, whole: VectorStore, pairs: int) -> VectorStore:
    """Whole shards, so that the size is one of theirs."""
    ends = np.cumsum([shard.pairs for shard in whole.shards])
    count = int(np.searchsorted(ends, pairs)) + 1
    return VectorStore(folder, whole.identity, whole.shards[:count])


def of_kind(
    kind: type[VectorIndex], store: VectorStore, queries: Vectors, scale: Scale
) -> dict[str, Any]:
    excluded = np.random.default_rng(1).random(len(store)) < EXCLUDED
    excluded.flags.writeable = False
    began = time.perf_counter()
    index = kind.build(store, {})
    seconds = time.perf_counter() - began
    index, size = stored(index, store)
    alone = []
    for query in queries[: scale.alone // (10 if index.exact else 1)]:
        began = time.perf_counter()
        nearest(index, store, query[None], K, excluded)
        alone.append(time.perf_counter() - began)
    began = time.perf_counter()
    nearest(index, store, queries, K, excluded)
    bulk = len(queries) / (time.perf_counter() - began)
    own = np.full(len(queries), -1)
    found = None if index.exact else measure(index, store, queries, own, excluded, K).value
    return {
        "kind": kind.kind,
        "pairs": len(store),
        "build_seconds": round(seconds, 1),
        "index_bytes": size,
        "parameters": dict(index.parameters),
        "one_query_ms": round(1000 * median(alone), 3),
        "bulk_queries_a_second": round(bulk, 1),
        "recall": found,
        "load_average": os.getloadavg(),
    }


def stored(index: VectorIndex, store: VectorStore) -> tuple[VectorIndex, int]:
    """As the site opens it, and the bytes of its files."""
    with tempfile.TemporaryDirectory(dir=folders.WORK) as folder:
        index.save(Path(folder))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        return type(index).load(Path(folder), store, index.parameters), size


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(number) for number in text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
