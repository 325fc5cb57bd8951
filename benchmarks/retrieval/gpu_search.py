"""The paper's search on one GPU: 6.3 million vectors, 15,211 queries and one, 30 pairs each.

Vectors in clusters are made on the device and stored in half precision. Beside it plain products
with a top-k of every tile; `faiss_gpu` has FAISS's indexes. Without a CUDA device only the small
size runs, on the CPU: it shows that the program works, and no speed.
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks import folders
from benchmarks.quality.search import loaded
from benchmarks.quality.tasks import MINILM
from benchmarks.retrieval.vectors import store_of
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.exact.gpu import GpuIndex
from retrieval.index.port import VectorIndex
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors

K = 30
WIDTH = 70  # what settle asks for first
TURNS = 5
SAMPLE = 200  # queries compared with the exact search on the CPU
PART = 2**18
CLUSTERS, CLUSTERED = 20_000, 0.6  # of a vector, what is its cluster's
TILE = 2**19
TARGETS = {"bulk_seconds": 3.0, "one_query_ms": 5.0}  # of 384 numbers


@dataclass(frozen=True)
class Scale:
    pairs: int = 6_300_000
    queries: int = 15_211
    dimensions: tuple[int, ...] = (384, 768)
    square: int = 8192  # rows of the matrices whose product shows the peak
    model: str = MINILM


SMALL = Scale(pairs=5_000, queries=50, dimensions=(384,), square=256)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.retrieval.gpu_search", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    print(json.dumps(run("small" if parser.parse_args().small else "full"), indent=2))
    return 0


def run(size: str, *, model: str = MINILM) -> dict[str, object]:
    if size == "full" and not torch.cuda.is_available():
        return {"skipped": "there is no CUDA device here"}
    return measured(replace(Scale() if size == "full" else SMALL, model=model))


def chosen_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def measured(scale: Scale) -> dict[str, object]:
    device = chosen_device()
    cuda = device.type == "cuda"
    name = torch.cuda.get_device_name() if cuda else "none: torch's CPU"
    bandwidth, peak = rates(device, scale.square)
    found = [
        of_dimension(scale, dimension, device, bandwidth, peak) for dimension in scale.dimensions
    ]
    peaks = {"gb_s": round(bandwidth, 1), "tflop_s_half": round(peak, 3)}
    return {"gpu": name, "peaks": peaks, "k": K, "targets": TARGETS, "measured": found}


def rates(device: torch.device, square: int) -> tuple[float, float]:
    """What the device reads and writes, and multiplies in half precision, a second."""
    factors = torch.randn(2, square, square, device=device).half()
    target = torch.empty_like(factors)
    copying = seconds(lambda: target.copy_(factors), device)
    product = seconds(lambda: torch.mm(*factors, out=target[0]), device)
    return 2 * factors.nbytes / copying / 1e9, 2 * square**3 / product / 1e12


def of_dimension(
    scale: Scale, dimension: int, device: torch.device, bandwidth: float, peak: float
) -> dict[str, object]:
    pairs, count = scale.pairs, scale.queries
    on_gpu = True if device.type == "cuda" else None
    folder = folders.fresh("gpu")
    try:
        store = made_store(folder, pairs, dimension, device)
        [queries] = made(count, dimension, device, seed=2)
        began = time.perf_counter()
        index = GpuIndex.build(store, {"device": device.type})
        loaded = time.perf_counter() - began
        nothing = np.zeros(pairs, np.bool_)
        nothing.flags.writeable = False
        one = queries[:1]
        bulk = seconds(lambda: index.search(queries, WIDTH, nothing), device)
        single = seconds(lambda: index.search(one, WIDTH, nothing), device)
        return {
            "pairs": pairs,
            "dimension": dimension,
            "queries": count,
            "load_seconds": round(loaded, 1),
            "bulk_seconds": round(bulk, 3),
            "bulk_settled_seconds": settled(index, store, queries, device),
            "one_query_ms": round(1000 * single, 3),
            "one_query_settled_ms": round(1000 * settled(index, store, one, device), 3),
            "one_question_ms": one_question(index, store, scale.model, device),
            # On a CPU the rates are other units' than the search's: a share says nothing.
            "bulk_share_of_peak": on_gpu
            and round(2e-12 * pairs * count * dimension / bulk / peak, 3),
            "one_query_share_of_bandwidth": on_gpu
            and round(2e-9 * pairs * dimension / single / bandwidth, 3),
            "rivals": rivals(store, queries, device),
            "same_as_exact": same_as_exact(index, store, queries[:SAMPLE]),
        }
    finally:
        shutil.rmtree(folder)


def made_store(folder: Path, pairs: int, dimension: int, device: torch.device) -> VectorStore:
    """Part by part: the vectors of all would not fit beside those of the index."""
    return store_of(folder, made(pairs, dimension, device, seed=1), dimension, "float16")


def made(count: int, dimension: int, device: torch.device, *, seed: int) -> Iterator[Vectors]:
    dice = torch.Generator(device).manual_seed(0)
    unit = torch.nn.functional.normalize
    centres = unit(torch.randn(CLUSTERS, dimension, generator=dice, device=device))
    dice.manual_seed(seed)
    for start in range(0, count, PART):
        size = min(PART, count - start)
        # Cubed: the first clusters are far larger than the last.
        drawn = (torch.rand(size, generator=dice, device=device) ** 3 * CLUSTERS).long()
        own = unit(torch.randn(size, dimension, generator=dice, device=device))
        whole = CLUSTERED * centres[drawn] + (1 - CLUSTERED) * own
        yield unit(whole).cpu().numpy()


def settled(
    index: VectorIndex, store: VectorStore, queries: Vectors, device: torch.device
) -> float:
    nothing = np.zeros(len(store), np.bool_)
    return round(seconds(lambda: nearest(index, store, queries, K, nothing), device), 5)


def one_question(
    index: GpuIndex, store: VectorStore, model: str, device: torch.device
) -> float | None:
    """From the text to the pairs, where the model of that dimension is at hand."""
    encoder = loaded(model, device.type)
    if store.identity.dimension != encoder.dimension:
        return None
    nothing = np.zeros(len(store), np.bool_)

    def ask() -> None:
        nearest(index, store, encoder.encode_questions(["Why is the sky blue?"]), K, nothing)

    return round(1000 * seconds(ask, device), 3)


def same_as_exact(index: GpuIndex, store: VectorStore, queries: Vectors) -> bool:
    """Positions and scores, after both were settled."""
    nothing = np.zeros(len(store), np.bool_)
    found = [nearest(one, store, queries, K, nothing) for one in (index, ExactIndex(store))]
    return all(np.array_equal(mine, exact) for mine, exact in zip(*found, strict=True))


def rivals(store: VectorStore, queries: Vectors, device: torch.device) -> dict[str, float]:
    """Seconds for all queries."""
    rows = torch.cat([torch.from_numpy(np.array(part)).to(device) for _, part in store.blocks()])
    asked = torch.from_numpy(queries).to(device).half()
    taken = seconds(lambda: tiled(asked, rows), device)
    return {"torch: product and top-k": round(taken, 3)}


def tiled(queries: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    found = []
    for part in torch.split(queries, 1024):
        best = [
            torch.topk(part @ tile.T, min(WIDTH, len(tile)), dim=1).values
            for tile in torch.split(rows, TILE)
        ]
        found.append(torch.topk(torch.cat(best, dim=1), WIDTH, dim=1).values)
    return torch.cat(found).cpu()


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """The median, after a turn that is not counted."""
    taken = []
    for _ in range(TURNS + 1):
        began = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
    return median(taken[1:])


if __name__ == "__main__":
    sys.exit(main())
