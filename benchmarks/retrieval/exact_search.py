"""The exact search beside FAISS as it comes and tuned, torch, and numpy: one query and many.

Turns are taken, so that whatever else the machine does falls on all; each figure is a median. All
find the 30 nearest by inner product of the same vectors; nothing is excluded and nothing is scored
again, but in the last line of each batch, which is the whole search of a campaign.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import faiss
import numpy as np
import torch

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks import folders
from benchmarks.quality.search import encoded, loaded
from benchmarks.quality.tasks import MINILM, answers, missing
from benchmarks.retrieval.vectors import clustered, store_of
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors

K = 30
PRODUCT_BYTES = 2**30
OURS, HALF, SETTLED = "ours", "ours, float16 stored", "ours, settled, a tenth excluded"

Scores = np.ndarray
Search = Callable[[Vectors], Scores]  # the K highest scores of each query


@dataclass(frozen=True)
class Scale:
    real: int = 150_000  # questions at most
    made: tuple[tuple[int, int], ...] = ((100_000, 768), (1_000_000, 384))  # rows, numbers in each
    turns: tuple[tuple[int, int], ...] = ((1, 15), (16, 7), (1024, 3))  # of so many queries at once
    pause: float = 0.2  # seconds
    model: str = MINILM


SMALL = Scale(real=2_000, made=((20_000, 384),))


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.retrieval.exact_search", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    parser.add_argument("--vectors", type=Path, help="measure on these alone: an .npy of float32")
    options = parser.parse_args()
    if options.vectors:
        results: object = of_vectors(options.vectors.stem, np.load(options.vectors), Scale())
    else:
        results = run("small" if options.small else "full")
    print(json.dumps(results, indent=2))
    return 0


def run(size: str) -> dict[str, object]:
    return measured(SMALL if size == "small" else Scale())


def measured(scale: Scale) -> dict[str, object]:
    sets = [of_vectors(name, vectors, scale) for name, vectors in vector_sets(scale)]
    return {"k": K, "turns": dict(scale.turns), "sets": sets}


def vector_sets(scale: Scale) -> Iterator[tuple[str, Vectors]]:
    if missing():
        print("the real pairs are not here: made vectors alone", file=sys.stderr)
    else:
        encoder = loaded(scale.model, "auto")
        real = encoded(answers(1000).corpus[: scale.real], "QQ", encoder)
        yield "MiniLM of real questions", real.rows(np.arange(len(real)))
    for count, dimension in scale.made:
        yield "made, in clusters", clustered(count, dimension, 1)


def of_vectors(name: str, vectors: Vectors, scale: Scale) -> dict[str, object]:
    folder = folders.fresh("exact")
    stores = {}
    for dtype in ("float32", "float16"):
        (folder / dtype).mkdir()
        stores[dtype] = store_of(folder / dtype, [vectors], vectors.shape[1], dtype)
    searches = ours(stores["float32"], stores["float16"]) | rivals(vectors)
    summing = seconds_of(torch.from_numpy(vectors).sum, 9, scale.pause)
    bandwidth = vectors.nbytes / median(summing) / 1e9
    found = {
        "vectors": name,
        "rows": len(vectors),
        "dimension": vectors.shape[1],
        "bandwidth_gb_s": round(bandwidth, 1),
        "batches": [batch(searches, vectors, size, scale, bandwidth) for size, _ in scale.turns],
        "load_average": os.getloadavg(),
    }
    shutil.rmtree(folder)
    return found


def ours(single: VectorStore, half: VectorStore) -> dict[str, Search]:
    nothing = np.zeros(len(single), np.bool_)
    tenth = np.random.default_rng(1).random(len(single)) < 0.1
    index, small = ExactIndex(single), ExactIndex(half)
    return {
        OURS: lambda queries: index.search(queries, K, nothing).scores,
        HALF: lambda queries: small.search(queries, K, nothing).scores,
        SETTLED: lambda queries: nearest(index, single, queries, K, tenth)[1],
    }


def rivals(rows: Vectors) -> dict[str, Search]:
    flat = faiss.IndexFlatIP(rows.shape[1])
    flat.add(rows)
    tensor = torch.from_numpy(rows)
    default = faiss.cvar.distance_compute_blas_threshold

    def by_faiss(queries: Vectors, threshold: int) -> Scores:
        faiss.cvar.distance_compute_blas_threshold = threshold
        scores: Scores = flat.search(queries, K)[0]
        return scores

    def by_torch(queries: Vectors) -> Scores:
        return torch.topk(torch.from_numpy(queries) @ tensor.T, K).values.numpy()

    def by_numpy(queries: Vectors) -> Scores:
        products = queries @ rows.T
        return -np.sort(-np.partition(products, len(rows) - K, axis=1)[:, -K:], axis=1)

    return {
        "FAISS as it comes": lambda queries: by_faiss(queries, default),
        "FAISS, BLAS always": lambda queries: by_faiss(queries, 1),
        "torch: product and top-k": lambda queries: in_parts(by_torch, queries, len(rows)),
        "numpy: product and partition": lambda queries: in_parts(by_numpy, queries, len(rows)),
    }


def in_parts(search: Search, queries: Vectors, rows: int) -> Scores:
    """As large products as memory takes."""
    step = max(1, PRODUCT_BYTES // (4 * rows))
    parts = [search(queries[at : at + step]) for at in range(0, len(queries), step)]
    return np.concatenate(parts)


def batch(
    searches: Mapping[str, Search], rows: Vectors, size: int, scale: Scale, bandwidth: float
) -> dict[str, object]:
    queries = rows[np.random.default_rng(size).integers(0, len(rows), size)]
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    scores = {name: search(queries) for name, search in searches.items()}  # not counted
    for _ in range(dict(scale.turns)[size]):
        for name, search in searches.items():
            seconds[name] += seconds_of(partial(search, queries), 1, scale.pause)
    medians = {name: median(each) for name, each in seconds.items()}
    others = {name: medians[name] for name in medians if not name.startswith(OURS)}
    best = min(others, key=others.__getitem__)
    result: dict[str, object] = {
        "queries": size,
        "milliseconds": {name: round(1000 * each, 2) for name, each in medians.items()},
        "best_rival": best,
        "ours_to_best_rival": round(medians[OURS] / others[best], 3),
        "same_scores_as_rivals": all(
            np.abs(scores[OURS] - scores[name]).max() < 1e-5 for name in others
        ),
    }
    if size == 1:
        result["share_of_bandwidth"] = round(rows.nbytes / medians[OURS] / 1e9 / bandwidth, 2)
    return result


def seconds_of(work: Callable[[], object], times: int, pause: float) -> list[float]:
    seconds = []
    # A library's threads go on spinning for a while after its turn, on the next one's cores.
    time.sleep(pause)
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
