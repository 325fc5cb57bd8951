"""What pgvector alone promises, on a real PostgreSQL."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from retrieval.index.approximate import pgvector_tables
from retrieval.index.approximate.pgvector import PgVectorIndex
from retrieval.index.approximate.pgvector_server import SCHEMA
from retrieval.index.approximate.pgvector_tables import COPY_END, COPY_HEADER, copied
from retrieval.vectors.shards import Identity, write_shard
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.approximate.engines import (
    DIMENSION,
    Engine,
    MakeStore,
    none_of,
    same_ranking,
    unit_vectors,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_binary_rows_are_what_postgresql_reads(
    database: Any, make_store: MakeStore, dtype: Any
) -> None:
    rows = unit_vectors(3, 1).astype(dtype)
    database.execute(f"CREATE TEMP TABLE t (position int, embedding halfvec({DIMENSION}))")
    content = COPY_HEADER + copied(40, rows) + COPY_END
    database.copy_expert("COPY t FROM STDIN (FORMAT BINARY)", io.BytesIO(content))
    database.execute("SELECT position, embedding::real[] FROM t ORDER BY position")
    read = database.fetchall()
    database.execute("DROP TABLE t")
    assert [position for position, _ in read] == [40, 41, 42]
    halves = np.array([row for _, row in read], np.float32).astype(np.float16)
    np.testing.assert_array_equal(halves, rows.astype(np.float16))


# keeping


def test_versions_over_the_same_shards_and_more_share_a_table(
    pgvector: Engine, make_store: MakeStore
) -> None:
    index = PgVectorIndex.build(make_store(300), {"ef_search": 400})
    index.add(make_store(300, 200))
    assert list(pgvector.tables().values()) == [500]


def test_a_killed_build_is_gone_on_with(
    pgvector: Engine, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the middle of its second shard, it has the first; that one is not sent again."""
    store = make_store(500, 400, 300)
    sent: list[int] = []

    def until_the_second(start: int, rows: Any) -> bytes:
        sent.append(start)
        if start == 500:
            raise KeyboardInterrupt
        return copied(start, rows)

    with monkeypatch.context() as patch:
        patch.setattr(pgvector_tables, "copied", until_the_second)
        with pytest.raises(KeyboardInterrupt):
            PgVectorIndex.build(store, {"ef_search": 400})
    assert list(pgvector.tables().values()) == [500]

    def counted(start: int, rows: Any) -> bytes:
        sent.append(start)
        return copied(start, rows)

    monkeypatch.setattr(pgvector_tables, "copied", counted)
    index = PgVectorIndex.build(store, {"ef_search": 400})
    assert sent == [0, 500, 500, 900]
    same_ranking(index, store, none_of(store))


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE {table}",
        "TRUNCATE {table}",
        "DELETE FROM {table} WHERE position = 7",
        "DROP INDEX {table}_hnsw",
        "DELETE FROM quorum_vectors.shards WHERE number = 1",
        "UPDATE quorum_vectors.shards SET shard = 'shard-of-another' WHERE number = 0",
        "DROP SCHEMA quorum_vectors CASCADE",
    ],
)
def test_a_table_that_is_not_the_one_recorded_is_refused_by_name_and_loaded_again(
    database: Any, make_store: MakeStore, tmp_path: Path, damage: str
) -> None:
    store = make_store(60, 40)
    index = PgVectorIndex.build(store, {})
    index.save(tmp_path)
    PgVectorIndex.load(tmp_path, store, index.parameters)
    table = f"{SCHEMA}.{index.parameters['table']}"
    database.execute(damage.format(table=table))
    with pytest.raises(UserError, match=f"The table {table} of .* does not hold the 100 vectors"):
        PgVectorIndex.load(tmp_path, store, index.parameters)
    again = PgVectorIndex.build(store, {})
    assert again.parameters == index.parameters
    PgVectorIndex.load(tmp_path, store, again.parameters)
    same_ranking(again, store, none_of(store))


# what is missing


def test_without_postgresql_the_user_is_told_what_to_set(
    make_store: MakeStore, settings: Any
) -> None:
    settings.VECTOR_DATABASE_URL = ""
    with pytest.raises(UserError, match="SQLite: let QUORUM_DATABASE_URL or QUORUM_VECTOR_DATAB"):
        PgVectorIndex.build(make_store(10), {})


def test_a_server_that_is_away_is_named_without_its_password(
    make_store: MakeStore, settings: Any
) -> None:
    settings.VECTOR_DATABASE_URL = "postgresql://ada:geheim@127.0.0.1:1/quorum"
    with pytest.raises(
        UserError, match=r"cannot be reached .*: check QUORUM_VECTOR_DATAB"
    ) as refusal:
        PgVectorIndex.build(make_store(10), {})
    assert "geheim" not in str(refusal.value)


def test_an_address_that_postgresql_does_not_understand_is_not_repeated(
    make_store: MakeStore, settings: Any
) -> None:
    """Django unquotes the password and takes it; libpq does not."""
    settings.VECTOR_DATABASE_URL = "postgresql://ada:50%geheim@127.0.0.1:1/quorum"
    with pytest.raises(UserError, match=r"no such address .* write % as %25") as refusal:
        PgVectorIndex.build(make_store(10), {})
    assert "geheim" not in str(refusal.value)


def test_a_database_without_the_extension_is_refused(
    database: Any, make_store: MakeStore, settings: Any
) -> None:
    database.execute("CREATE DATABASE bare")
    settings.VECTOR_DATABASE_URL = settings.VECTOR_DATABASE_URL.replace("/postgres?", "/bare?")
    with pytest.raises(UserError, match="superuser run CREATE EXTENSION vector"):
        PgVectorIndex.build(make_store(10), {})


def test_a_role_without_the_right_to_make_tables_is_told_so(
    database: Any, make_store: MakeStore, settings: Any
) -> None:
    database.execute("CREATE ROLE bob LOGIN")
    settings.VECTOR_DATABASE_URL = settings.VECTOR_DATABASE_URL.replace("postgres:@", "bob:@")
    with pytest.raises(UserError, match=r"permission denied .* the role's rights on the schema"):
        PgVectorIndex.build(make_store(10), {})


def test_vectors_too_long_for_an_index_are_refused(database: Any, tmp_path: Path) -> None:
    identity = Identity("made", "f" * 64, "mean", "QQ", 4001, "fp32", "float16")
    made = write_shard(tmp_path, identity, np.frombuffer(bytes(32), "S32"), np.eye(1, 4001))
    with pytest.raises(UserError, match="at most 4,000 dimensions, the model's have 4,001"):
        PgVectorIndex.build(VectorStore(tmp_path, identity, [made]), {})
