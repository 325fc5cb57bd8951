"""One part in a process of its own: its memory and threads do not weigh on the next.

Not in `__main__`: a spawned process imports what it runs, and cannot import that.
"""

import importlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Mapping
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
PARTS = tuple(MODULES)


def measure(name: str, *, small: bool, **options: str) -> bool:
    """False where it fails: the other parts run all the same. The options are the part's own."""
    print("\n" + " ".join([name, *options.values()]), flush=True)
    began, load = time.monotonic(), os.getloadavg()
    try:
        results = apart(name, "small" if small else "full", options)
    except Exception as error:  # noqa: BLE001 - whatever a part raises is told, and the next runs
        print(f"bench: {name}: {error!r}", file=sys.stderr)
        return False
    kept = {
        "machine": machine(),
        "load_average_before": load,
        "seconds": round(time.monotonic() - began, 1),
        **results,
    }
    print(json.dumps(kept, indent=2))
    if not small and "skipped" not in results:
        folders.keep("_".join(["retrieval", name, *options.values()]), kept)
    return True


def apart(name: str, size: str, options: Mapping[str, str]) -> dict[str, Any]:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=fresh) as process:
        return process.submit(run, name, size, options).result()


def run(name: str, size: str, options: Mapping[str, str]) -> dict[str, Any]:
    part = importlib.import_module(f"benchmarks.{MODULES[name]}")
    results: dict[str, Any] = part.run(size, **options)
    return results
