"""FAISS's indexes on a GPU beside ours: 6.3 million vectors, 15,211 queries and one.

Flat in half precision, and inverted lists, which are those of an index of the kind ivf-gpu; ours
is the exact search of the kind gpu. CAGRA is not in the faiss-gpu that is installed: only builds
with cuVS have it.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import faiss
import numpy as np
import torch

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks import folders
from benchmarks.retrieval.gpu_search import (
    SAMPLE,
    SMALL,
    WIDTH,
    Scale,
    chosen_device,
    made,
    made_store,
    seconds,
    settled,
)
from retrieval.index.approximate.ivf_gpu import IvfGpuIndex
from retrieval.index.exact.gpu import GpuIndex
from retrieval.index.recall import measure
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors

HELD_OUT = 15_211  # rows that no search of ours may find, as many as the paper's held-out pairs


def run(size: str, *, dimension: str) -> dict[str, Any]:
    if not faiss.get_num_gpus():
        return {"skipped": "FAISS finds no GPU here: this needs a CUDA device and EXTRA=gpu"}
    return measured(Scale() if size == "full" else SMALL, int(dimension))


def measured(scale: Scale, dimension: int) -> dict[str, Any]:
    device = chosen_device()
    folder = folders.fresh("faiss_gpu")
    try:
        store = made_store(folder, scale.pairs, dimension, device)
        [queries] = made(scale.queries, dimension, device, seed=2)
        began = time.perf_counter()
        lists = IvfGpuIndex.build(store, {})
        built = time.perf_counter() - began
        return {
            "gpu": torch.cuda.get_device_name() if device.type == "cuda" else "none: a stand-in",
            "pairs": scale.pairs,
            "dimension": dimension,
            "queries": scale.queries,
            "ivf_gpu_build_seconds": round(built, 1),
            "ivf_gpu_parameters": lists.parameters,
            **searched(store, queries, lists, device),
        }
    finally:
        shutil.rmtree(folder)


def searched(
    store: VectorStore, queries: Vectors, lists: IvfGpuIndex, device: torch.device
) -> dict[str, Any]:
    excluded = np.zeros(len(store), np.bool_)
    excluded[np.random.default_rng(1).choice(len(store), min(HELD_OUT, len(store) // 9), False)] = 1
    excluded.flags.writeable = False
    exact, flat = GpuIndex.build(store, {"device": device.type}), flat_of(store)
    some = queries[:SAMPLE]
    recall = measure(lists, store, some, np.full(len(some), -1), excluded)
    params = faiss.SearchParametersIVF(nprobe=lists.parameters["probes"])
    searches: dict[str, Callable[[Vectors], object]] = {
        "gpu, exact": lambda asked: exact.search(asked, WIDTH, excluded),
        "ivf-gpu": lambda asked: lists.search(asked, WIDTH, excluded),
        "FAISS, the lists alone": lambda asked: lists._copy.search(asked, WIDTH, params=params),
        "FAISS, flat, half precision": lambda asked: flat.search(asked, WIDTH),
    }
    return {
        "excluded": int(excluded.sum()),
        "ivf_gpu_recall": asdict(recall),
        "ivf_gpu_bulk_settled_seconds": settled(lists, store, queries, device),
        "searches": {name: timed(search, queries, device) for name, search in searches.items()},
    }


def timed(
    search: Callable[[Vectors], object], queries: Vectors, device: torch.device
) -> dict[str, float]:
    return {
        "bulk_seconds": round(seconds(lambda: search(queries), device), 3),
        "one_query_ms": round(1000 * seconds(lambda: search(queries[:1]), device), 3),
    }


def flat_of(store: VectorStore) -> Any:
    options = faiss.GpuClonerOptions()
    options.useFloat16 = True
    empty = faiss.IndexFlatIP(store.identity.dimension)
    flat = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, empty, options)
    for _, rows in store.blocks():
        flat.add(rows.astype(np.float32))
    return flat
