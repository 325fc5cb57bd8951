"""Vectors in PostgreSQL: an HNSW index of pgvector over the rows in halfvec.

Versions over the same shards share a table: rows are only ever added to it, and a version looks at
those of its own shards alone. The version's list of what it removed is excluded from its searches.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from psycopg2.extensions import connection as Connection
from psycopg2.sql import SQL

from retrieval.index.approximate.pgvector_server import SCHEMA, connect, transaction
from retrieval.index.approximate.pgvector_tables import (
    as_text,
    begins_alike,
    fill,
    named,
    require_rows,
    shards_in,
    shards_of,
)
from retrieval.index.port import Neighbours
from retrieval.index.tuning import RECALL, tune
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

# Links of a row (twice as many at the bottom), and how many rows are looked at to choose them.
GRAPH = {"m": 16, "ef_construction": 100}
TUNING_VALUES = (70, 100, 140, 200, 280, 400, 560, 800, 1000)  # the last is pgvector's own limit
RECORD = "pgvector.json"
RESULTS_PER_STATEMENT = 200_000
# The plan that walks the graph: an order by distance that no sort makes, row by row.
PLAN = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",
    "jit": "off",
    # It goes on where rows are excluded. What it finds is scored and ordered again.
    "hnsw.iterative_scan": "relaxed_order",
}
SET_PLAN = """
    SELECT set_config(name, value, true) FROM unnest(%s, %s) AS plan (name, value)
"""
NEAREST = """
    SELECT query.number - 1, near.position, near.score
    FROM unnest(%(queries)s::halfvec[]) WITH ORDINALITY AS query (embedding, number)
    CROSS JOIN LATERAL (
        SELECT held.position, -(held.embedding <#> query.embedding) AS score
        FROM {table} AS held
        WHERE held.position < %(rows)s
          AND NOT EXISTS (SELECT FROM pg_temp.excluded WHERE excluded.position = held.position)
        ORDER BY held.embedding <#> query.embedding
        LIMIT %(width)s
    ) AS near
"""


class PgVectorIndex:
    kind: ClassVar[str] = "pgvector"
    exact: ClassVar[bool] = False

    def __init__(
        self, connection: Connection, store: VectorStore, parameters: Mapping[str, object]
    ) -> None:
        self._connection = connection
        self._store = store
        self.parameters = parameters
        self._removed = np.zeros(len(store), np.bool_)
        self._sent: Mask | None = None  # what pg_temp.excluded holds

    @classmethod
    def build(cls, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        """`parameters` may hold `recall`, and what is chosen here otherwise."""
        given = {name: value for name, value in parameters.items() if name != "recall"}
        index = cls(connect(), store, GRAPH | given)
        index._new_table()
        if "ef_search" not in given:
            wanted = float(str(parameters.get("recall", RECALL)))
            tune(index, store, values=TUNING_VALUES, take=index._take, wanted=wanted)
        return index

    def add(self, store: VectorStore) -> None:
        more = np.zeros(len(store) - len(self._store), np.bool_)
        self._store, self._removed = store, np.concatenate([self._removed, more])
        self._sent = None
        with transaction(self._connection) as cursor:
            held = shards_in(cursor, self._table)
        if begins_alike(held, shards_of(store)):
            fill(self._connection, self._table, store, self._options())
        else:  # another version has added other shards to the table
            self._new_table()

    def remove(self, positions: Positions) -> None:
        self._removed[positions] = True

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        """Fewer than there are where the graph, or a scan of it, does not reach them."""
        self._exclude(excluded | self._removed)
        positions = np.full((len(queries), width), -1, np.int64)
        scores = np.full((len(queries), width), -np.inf, np.float32)
        step = max(1, RESULTS_PER_STATEMENT // width)
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            self._nearest(queries[part], width, positions[part], scores[part])
        return Neighbours(positions, scores)

    def save(self, folder: Path) -> None:
        shards = "\n".join(name for name, _ in shards_of(self._store))
        record = {
            "table": f"{SCHEMA}.{self._table}",
            "rows": len(self._store),
            "shards_sha256": hashlib.sha256(shards.encode()).hexdigest(),
        }
        (folder / RECORD).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")

    @classmethod
    def load(cls, folder: Path, store: VectorStore, parameters: Mapping[str, object]) -> Self:
        index = cls(connect(), store, parameters)
        require_rows(index._connection, index._table, store)
        return index

    @property
    def _table(self) -> str:
        return str(self.parameters["table"])

    def _options(self) -> str:
        return ", ".join(f"{name} = {int(str(self.parameters[name]))}" for name in GRAPH)

    def _take(self, value: int) -> None:
        self.parameters = {**self.parameters, "ef_search": value}

    def _new_table(self) -> None:
        """Of the same name for the same shards and options: a killed build's is gone on with."""
        content = [asdict(self._store.identity), shards_of(self._store), self._options()]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        self.parameters = {**self.parameters, "table": f"v_{digest[:24]}"}
        fill(self._connection, self._table, self._store, self._options())

    def _exclude(self, left_out: Mask) -> None:
        """Sent once for many searches: it is most often the same."""
        if self._sent is not None and np.array_equal(left_out, self._sent):
            return
        lines = "".join(f"{position}\n" for position in np.flatnonzero(left_out).tolist())
        with transaction(self._connection) as cursor:
            cursor.execute("CREATE TEMP TABLE IF NOT EXISTS excluded (position int PRIMARY KEY)")
            cursor.execute("TRUNCATE pg_temp.excluded")
            cursor.copy_expert("COPY pg_temp.excluded FROM STDIN", io.StringIO(lines))
            cursor.execute("ANALYZE pg_temp.excluded")
        self._sent = left_out.copy()

    def _nearest(
        self, queries: Vectors, width: int, positions: Positions, scores: NDArray[np.float32]
    ) -> None:
        """Fill the positions and scores of these queries."""
        value = min(TUNING_VALUES[-1], max(width, int(str(self.parameters["ef_search"]))))
        values = {"queries": as_text(queries), "rows": len(self._store), "width": width}
        with transaction(self._connection) as cursor:
            plan = {**PLAN, "hnsw.ef_search": str(value)}
            cursor.execute(SET_PLAN, [list(plan), list(plan.values())])
            cursor.execute(SQL(NEAREST).format(table=named(self._table)), values)
            neighbours = np.array(cursor.fetchall(), np.float64).reshape(-1, 3)
        order = np.lexsort((-neighbours[:, 2], neighbours[:, 0]))
        number, at, near = neighbours[order].T
        place = np.arange(len(number)) - np.searchsorted(number, number)
        rows = number.astype(np.int64)
        positions[rows, place], scores[rows, place] = at, near
