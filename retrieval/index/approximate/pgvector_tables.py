"""Tables of vectors in PostgreSQL, in a schema of their own; only what builds them and drops them.

A table holds the rows of shards one after the other, and quorum_vectors.shards says of which. Each
shard is loaded in one transaction: a killed build leaves whole ones, and the next goes on.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from psycopg2.extensions import connection as Connection
from psycopg2.extensions import cursor as Cursor
from psycopg2.sql import SQL, Identifier, Literal

from core.errors import UserError
from retrieval.index.approximate.engine_index import Shards, shards_of
from retrieval.index.approximate.pgvector_server import SCHEMA, server_address, transaction
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Stored

ROWS_PER_COPY = 4096
MOST_DIMENSIONS = 4000  # of a halfvec in an HNSW index
# Of COPY's binary format: signature, flags and length of an extension; and the end.
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_END = b"\xff\xff"


def fill(connection: Connection, table: str, store: VectorStore, options: str) -> None:
    """Load what the table does not hold yet of the store, and index it; made where there is none.

    `options`: of the HNSW index, as SQL.
    """
    if (dimension := store.identity.dimension) > MOST_DIMENSIONS:
        raise UserError(
            f"pgvector indexes vectors of at most {MOST_DIMENSIONS:,} dimensions, the model's have "
            f"{dimension:,}: choose another kind of index."
        )
    with _alone_with(connection, table):
        with transaction(connection) as cursor:
            if not _is_sound(cursor, table, shards_of(store)):
                drop(cursor, table)
            _create(cursor, table, dimension)
            held = len(shards_in(cursor, table))
        _load(connection, table, store, held)
        with transaction(connection) as cursor:
            graph = Identifier(index_of(table))
            statement = SQL(
                "CREATE INDEX IF NOT EXISTS {} ON {} USING hnsw (embedding halfvec_ip_ops) "
            ).format(graph, named(table))
            cursor.execute(statement + SQL(f"WITH ({options})"))


def shards_in(cursor: Cursor, table: str) -> Shards:
    """Those whose rows the table holds, in their order."""
    if not _exists(cursor, "shards"):
        return []
    cursor.execute(
        SQL("SELECT shard, pairs FROM {} WHERE of_table = %s ORDER BY number").format(
            named("shards")
        ),
        [table],
    )
    shards: Shards = cursor.fetchall()
    return shards


def begins_alike(one: Shards, other: Shards) -> bool:
    """One of them is the beginning of the other."""
    return all(a == b for a, b in zip(one, other, strict=False))


def require_rows(connection: Connection, table: str, store: VectorStore) -> None:
    """Refuse, by name, a table that is gone, incomplete, or of other shards."""
    shards = shards_of(store)
    with transaction(connection) as cursor:
        # Another process may be adding shards: their record and their rows are read at one moment.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        sound = (
            _exists(cursor, index_of(table))
            and len(shards_in(cursor, table)) >= len(shards)
            and _is_sound(cursor, table, shards)
        )
    if not sound:
        raise UserError(
            f"The table {SCHEMA}.{table} of the database at {server_address()} does not hold the "
            f"{len(store):,} vectors of this index, or not their graph: run `quorum index build` "
            "to load them again, or let QUORUM_VECTOR_DATABASE_URL name the database that has them."
        )


def named(table: str) -> Identifier:
    return Identifier(SCHEMA, table)


def index_of(table: str) -> str:
    return f"{table}_hnsw"


def as_text(vectors: Stored) -> list[str]:
    """How PostgreSQL reads vectors."""
    return ["[" + ",".join(map(repr, row)) + "]" for row in vectors.astype(float).tolist()]


@contextmanager
def _alone_with(connection: Connection, table: str) -> Iterator[None]:
    """Two builds must not load the same shard. The lock ends with the connection too."""
    with transaction(connection) as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [table])
    yield
    with transaction(connection) as cursor:
        cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [table])


def _create(cursor: Cursor, table: str, dimension: int) -> None:
    cursor.execute(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(SCHEMA)))
    cursor.execute(
        SQL(
            "CREATE TABLE IF NOT EXISTS {} (of_table text, number int, shard text NOT NULL, "
            "pairs int NOT NULL, PRIMARY KEY (of_table, number))"
        ).format(named("shards"))
    )
    cursor.execute(
        SQL(
            "CREATE TABLE IF NOT EXISTS {} (position int PRIMARY KEY, embedding halfvec({}) "
            "NOT NULL)"
        ).format(named(table), Literal(dimension))
    )
    # Compressing vectors gains nothing, and a row that is stored aside is slower to read.
    cursor.execute(SQL("ALTER TABLE {} ALTER embedding SET STORAGE PLAIN").format(named(table)))


def _load(connection: Connection, table: str, store: VectorStore, held: int) -> None:
    """All shards but the first so many, each whole or not at all."""
    blocks = store.blocks(sum(shard.pairs for shard in store.shards[:held]))
    for number, shard in enumerate(store.shards[held:], held):
        start, rows = next(blocks)
        with transaction(connection) as cursor:
            _copy(cursor, table, start, rows)
            cursor.execute(
                SQL("INSERT INTO {} VALUES (%s, %s, %s, %s)").format(named("shards")),
                [table, number, shard.name, shard.pairs],
            )


def _copy(cursor: Cursor, table: str, start: int, rows: Stored) -> None:
    statement = SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(named(table))
    for first in range(0, len(rows), ROWS_PER_COPY):
        part = rows[first : first + ROWS_PER_COPY]
        content = COPY_HEADER + copied(start + first, part) + COPY_END
        cursor.copy_expert(statement, io.BytesIO(content))


def copied(start: int, rows: Stored) -> bytes:
    """Positions and halfvecs in the binary format of COPY."""
    count, dimension = rows.shape
    record = np.dtype(
        [
            ("fields", ">i2"),
            ("position_bytes", ">i4"),
            ("position", ">i4"),
            ("vector_bytes", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("vector", ">f2", (dimension,)),
        ]
    )
    records = np.zeros(count, record)
    records["fields"], records["position_bytes"] = 2, 4
    records["position"] = np.arange(start, start + count)
    records["vector_bytes"], records["dimension"] = 4 + 2 * dimension, dimension
    records["vector"] = rows
    return records.tobytes()


def drop(cursor: Cursor, table: str) -> None:
    cursor.execute(SQL("DROP TABLE IF EXISTS {}").format(named(table)))
    if _exists(cursor, "shards"):
        cursor.execute(SQL("DELETE FROM {} WHERE of_table = %s").format(named("shards")), [table])


def _is_sound(cursor: Cursor, table: str, shards: Shards) -> bool:
    """Not there yet, or with all the rows that it should have, of these shards or their first."""
    held = shards_in(cursor, table)
    if not _exists(cursor, table):
        return not held
    cursor.execute(SQL("SELECT count(*) FROM {}").format(named(table)))
    whole: bool = cursor.fetchone() == (sum(pairs for _, pairs in held),)
    return whole and begins_alike(held, shards)


def _exists(cursor: Cursor, name: str) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [f"{SCHEMA}.{name}"])
    return bool(cursor.fetchone()[0])
