"""What milvus alone promises, on a real milvus-lite."""

import logging
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from retrieval.index.approximate.engine_index import GRAPH
from retrieval.index.lazy import engine_class
from retrieval.vectors.shards import write_shard
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.approximate.engines import (
    IDENTITY,
    Engine,
    MakeStore,
    none_of,
    same_ranking,
    unit_vectors,
)

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

from milvus_lite.adapter.grpc.server import start_server_in_thread
from pymilvus import MilvusClient

from retrieval.index.approximate import milvus as adapter
from retrieval.index.approximate.milvus import MilvusIndex, filters
from retrieval.index.approximate.milvus_server import connect


def test_many_excluded_rows_are_told_in_several_expressions(
    milvus: Engine, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(900)
    index = MilvusIndex.build(store, {"ef_search": 400})
    excluded = np.random.default_rng(3).random(900) < 0.4
    excluded[200:400] = True  # a whole range of them
    monkeypatch.setattr(adapter, "MOST_EXCLUDED", 100)
    assert len(list(filters(excluded))) > 3
    same_ranking(index, store, excluded)
    found = index.search(unit_vectors(20, 7), 30, excluded).positions
    assert not excluded[found[found >= 0]].any()


def test_the_held_out_questions_of_the_papers_size_are_one_expression(
    milvus: Engine, make_store: MakeStore
) -> None:
    store = make_store(16_000)
    index = MilvusIndex(store, GRAPH | {"table": "held_out", "ef_search": 70})
    excluded = none_of(store)
    excluded[np.random.default_rng(3).permutation(16_000)[:15_211]] = True
    [expression] = filters(excluded)
    assert expression.count(",") == 15_210
    index._collection = "held_out_1"
    index._create()
    some = np.flatnonzero(~excluded)[:40].tolist() + np.flatnonzero(excluded)[:40].tolist()
    rows = store.rows(np.array(some))
    held = [{"position": at, "vector": row} for at, row in zip(some, rows, strict=True)]
    client = connect()
    client.insert(index._collection, held)
    index._index()
    client.load_collection(index._collection)
    found = index.search(unit_vectors(3, 7), 80, excluded).positions
    assert [sorted(row[row >= 0].tolist()) for row in found] == [some[:40]] * 3


@pytest.mark.parametrize("count", range(0, 12))
def test_the_expressions_let_through_what_is_not_excluded_and_nothing_twice(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MOST_EXCLUDED", 3)
    excluded = np.zeros(11, np.bool_)
    excluded[np.random.default_rng(count).permutation(11)[:count]] = True
    through = [
        position
        for expression in filters(excluded)
        for position in range(11)
        if eval(expression or "True", {"position": position})
    ]
    assert through == np.flatnonzero(~excluded).tolist()


# keeping


def test_a_killed_build_leaves_nothing_that_is_searched_and_the_next_begins_anew(
    milvus: Engine, make_store: MakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store(500, 400)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for step in ("flush", "create_index", "load_collection"):
        with monkeypatch.context() as patch:
            patch.setattr(MilvusClient, step, killed)
            with pytest.raises(KeyboardInterrupt):
                MilvusIndex.build(store, {"ef_search": 400})
        [table] = milvus.tables()
        if step != "load_collection":  # the graph is there, and all rows
            with pytest.raises(UserError, match="does not hold the 900 vectors"):
                MilvusIndex.load(tmp_path, store, {"table": table, "ef_search": 400})
    index = MilvusIndex.build(store, {"ef_search": 400})
    assert milvus.tables() == {table: 900}
    same_ranking(index, store, none_of(store))


def _other_rows(client: MilvusClient, table: str) -> None:
    """As many, with others' vectors."""
    rows = unit_vectors(100, 55)
    client.upsert(table, [{"position": at, "vector": row} for at, row in enumerate(rows)])


@pytest.mark.parametrize(
    "damage",
    [
        lambda client, table: client.drop_collection(table),
        lambda client, table: client.delete(table, filter="position in [7]"),
        lambda client, table: client.delete(table, filter="position >= 0"),
        lambda client, table: (
            client.release_collection(table),
            client.drop_index(table, "vector"),
        ),
        _other_rows,
    ],
    ids=["dropped", "a row gone", "all rows gone", "graph gone", "other rows"],
)
def test_a_collection_that_is_not_the_one_recorded_is_refused_by_name_and_loaded_again(
    milvus: Engine, make_store: MakeStore, tmp_path: Path, damage: Callable[..., object]
) -> None:
    store = make_store(60, 40)
    index = MilvusIndex.build(store, {})
    MilvusIndex.load(tmp_path, store, index.parameters)
    table = index.parameters["table"]
    damage(connect(), index._collection)
    with pytest.raises(UserError, match=f"The collection {table} of .* does not hold the 100 vect"):
        MilvusIndex.load(tmp_path, store, index.parameters)
    again = MilvusIndex.build(store, {})
    assert again.parameters == index.parameters
    same_ranking(again, store, none_of(store))


def test_a_collection_that_goes_while_it_is_searched_is_told_in_one_sentence(
    milvus: Engine, make_store: MakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    index = MilvusIndex.build(make_store(50), {})
    milvus.lose(str(index.parameters["table"]))
    with pytest.raises(UserError, match=r"Milvus at .* could not do .* run `quorum index build`"):
        index.search(unit_vectors(1, 1), 5, np.zeros(50, np.bool_))
    assert not caplog.records


def test_whatever_a_model_is_called_the_collection_has_a_name_of_its_own(
    milvus: Engine, tmp_path: Path
) -> None:
    tables = set()
    for name in ("a'; drop", 'é"\n{}', "a" * 300):
        identity = replace(IDENTITY, model=name)
        made = write_shard(tmp_path, identity, np.frombuffer(bytes(32), "S32"), np.eye(1, 24))
        index = MilvusIndex.build(VectorStore(tmp_path, identity, [made]), {})
        tables.add(str(index.parameters["table"]))
    assert set(milvus.tables()) == tables
    assert len(tables) == 3
    assert all(table.removeprefix("quorum_").isalnum() for table in tables)


# a server


def test_a_server_is_used_by_the_same_calls_and_told_at_once_when_it_has_gone(
    make_store: MakeStore, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, engine, port = start_server_in_thread(str(tmp_path / "engine"))
    settings.MILVUS = f"http://ada:geh%25eim@127.0.0.1:{port}/default"
    store = make_store(300)
    index = MilvusIndex.build(store, {"ef_search": 400})
    excluded = none_of(store)
    excluded[::3] = True
    same_ranking(index, store, excluded)
    server.stop(0).wait()
    engine.close()
    began = time.monotonic()
    for use in (
        lambda: index.search(unit_vectors(1, 1), 5, excluded),
        lambda: MilvusIndex.load(tmp_path, store, index.parameters),
    ):
        with pytest.raises(UserError, match=f"Milvus at http://127.0.0.1:{port}/default ") as end:
            use()
        assert "eim" not in str(end.value) + caplog.text
    assert time.monotonic() - began < 10


# what is missing


def test_without_an_address_the_user_is_told_what_to_set(
    make_store: MakeStore, settings: Any
) -> None:
    settings.MILVUS = ""
    with pytest.raises(UserError, match="needs QUORUM_MILVUS: a file that ends in"):
        MilvusIndex.build(make_store(10), {})


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_server_that_is_away_or_silent_is_named_soon_and_without_its_password(
    make_store: MakeStore,
    settings: Any,
    silent: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("retrieval.index.approximate.milvus_server.CONNECT_SECONDS", 0.5)
    caplog.set_level(logging.DEBUG)
    for port in (1, silent):
        settings.MILVUS = f"http://ada:geh%40eim@127.0.0.1:{port}/db"
        began = time.monotonic()
        with pytest.raises(
            UserError, match=r"cannot be reached .*: check QUORUM_MILVUS"
        ) as refusal:
            MilvusIndex.build(make_store(10), {})
        assert time.monotonic() - began < 5
        assert f"http://127.0.0.1:{port}/db" in str(refusal.value)
        assert "eim" not in str(refusal.value) + caplog.text


def test_a_file_in_a_folder_that_is_not_there_is_told_so(
    make_store: MakeStore, settings: Any, tmp_path: Path
) -> None:
    settings.MILVUS = str(tmp_path / "none" / "milvus.db")
    with pytest.raises(UserError, match="its folder must exist"):
        MilvusIndex.build(make_store(10), {})


@pytest.mark.parametrize("package", ["pymilvus", "grpc"])
def test_without_its_packages_the_extra_is_named(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if "approximate.milvus" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=f"needs the package {package}, .* the extra milvus"):
        engine_class("milvus")
