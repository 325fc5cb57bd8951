"""Vectors in PostgreSQL: an HNSW index of pgvector over the rows in halfvec.

Rows are only ever added to a table: a version that has shards more than another shares its table,
and each looks at those of its own shards alone.
"""

import io
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from psycopg2.sql import SQL

from retrieval.index.approximate.engine_index import TUNING_VALUES, EngineIndex, shards_of
from retrieval.index.approximate.pgvector_server import SCHEMA, connect, transaction
from retrieval.index.approximate.pgvector_tables import (
    as_text,
    begins_alike,
    drop,
    fill,
    named,
    require_rows,
    shards_in,
)
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Positions, Vectors

MOST_EFFORT = TUNING_VALUES[-1]  # pgvector's own limit
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


class PgVectorIndex(EngineIndex):
    kind: ClassVar[str] = "pgvector"
    prefix: ClassVar[str] = "v_"
    results_per_call: ClassVar[int] = 200_000

    def __init__(self, store: VectorStore, parameters: Mapping[str, object]) -> None:
        super().__init__(store, parameters)
        self._connection = connect()

    @classmethod
    def drop(cls, tables: set[str]) -> None:
        connection = connect()
        with transaction(connection) as cursor:
            for table in sorted(tables):
                drop(cursor, table)
        connection.close()

    def _fill(self) -> None:
        fill(self._connection, self._table, self._store, self._options())

    def _grow(self) -> None:
        with transaction(self._connection) as cursor:
            held = shards_in(cursor, self._table)
        if begins_alike(held, shards_of(self._store)):
            self._fill()
        else:  # another version has added other shards to the table
            self._new_table()

    def _require_rows(self) -> None:
        require_rows(self._connection, self._table, self._store)

    def _full_name(self) -> str:
        return f"{SCHEMA}.{self._table}"

    def _exclude(self, left_out: Mask) -> None:
        lines = "".join(f"{position}\n" for position in np.flatnonzero(left_out).tolist())
        with transaction(self._connection) as cursor:
            cursor.execute("CREATE TEMP TABLE IF NOT EXISTS excluded (position int PRIMARY KEY)")
            cursor.execute("TRUNCATE pg_temp.excluded")
            cursor.copy_expert("COPY pg_temp.excluded FROM STDIN", io.StringIO(lines))
            cursor.execute("ANALYZE pg_temp.excluded")

    def _nearest(
        self, queries: Vectors, width: int, positions: Positions, scores: NDArray[np.float32]
    ) -> None:
        value = min(MOST_EFFORT, self._effort(width))
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
