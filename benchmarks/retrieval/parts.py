"""One part in a process of its own: its memory and threads do not weigh on the next.

Not in `__main__`: a spawned process imports what it runs, and cannot import that.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import benchmarks.ready  # noqa: F401 - before what stands on Django
from benchmarks import folders
from benchmarks.main_job import machine

MODULES = {
    "encoding": "retrieval.encoding",
    "exact_search": "retrieval.exact_search",
    "gpu_search": "retrieval.gpu_search",
    "approximate_search": "retrieval.approximate_search",
    "pgvector_search": "retrieval.pgvector_search",
    "growth": "retrieval.growth",
    "quality": "quality.compare",
}


def names_of(parts: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """The type of an option that takes some of them, with commas between."""

    def named(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        if unknown := sorted(set(names) - set(parts)):
            raise argparse.ArgumentTypeError(f"there is no part {unknown[0]!r}")
        return names

    return named


def measure(name: str, module: str, *, small: bool, **options: str) -> bool:
    """False where it fails: the other parts run all the same. The options are the part's own, and
    with the name they say where its results are kept."""
    kept_as = "_".join([name, *options.values()])
    print(f"\n{kept_as}", flush=True)
    began, load = time.monotonic(), os.getloadavg()
    try:
        results = apart(module, "small" if small else "full", options)
    except Exception as error:  # noqa: BLE001 - whatever a part raises is told, and the next runs
        print(f"bench: {kept_as}: {error!r}", file=sys.stderr)
        return False
    kept = {
        "machine": machine(),
        "load_average_before": load,
        "seconds": round(time.monotonic() - began, 1),
        **results,
    }
    print(json.dumps(kept, indent=2))
    if not small and "skipped" not in results:
        folders.keep(kept_as, kept)
    return True


def apart(module: str, size: str, options: Mapping[str, str]) -> dict[str, Any]:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=fresh) as process:
        return process.submit(run, module, size, options).result()


def run(module: str, size: str, options: Mapping[str, str]) -> dict[str, Any]:
    part = importlib.import_module(f"benchmarks.{module}")
    results: dict[str, Any] = part.run(size, **options)
    return results
