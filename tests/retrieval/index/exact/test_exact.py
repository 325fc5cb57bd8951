import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from retrieval.index.exact import half_precision, scan, top_k
from retrieval.index.exact.exact import ExactIndex
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors
from tests.retrieval.index.stores import (
    keys_of,
    make_store,
    no_mask,
    repeated,
    true_scores,
    unit_vectors,
)
from tests.support.examples import examples


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[VectorStore]:
    """Many copies, in 23 shards of unlike sizes; in float32 and in float16."""
    cuts = np.random.default_rng(3).integers(1, 900, 22).tolist()
    vectors = repeated(900, 12, 3, copies=5)
    return [
        make_store(tmp_path_factory.mktemp(dtype), vectors, cuts=cuts, dtype=dtype)
        for dtype in ("float32", "float16")
    ]


def assert_nothing_nearer_is_left_out(
    store: VectorStore, queries: Vectors, width: int, excluded: Mask
) -> None:
    found = ExactIndex(store).search(queries, width, excluded)
    everything = np.tile(np.arange(len(store)), (len(queries), 1))
    true = np.where(excluded, -np.inf, true_scores(store, queries, everything))
    wanted = -np.sort(-true, axis=1)[:, :width]
    wanted = np.pad(wanted, [(0, 0), (0, width - wanted.shape[1])], constant_values=-np.inf)
    np.testing.assert_allclose(found.scores, wanted, atol=found.margin)
    here = true_scores(store, queries, found.positions)
    np.testing.assert_allclose(here, found.scores, atol=found.margin)
    for row in found.positions:
        assert len(set(row[row >= 0])) == (row >= 0).sum()


@settings(max_examples=examples(60), deadline=None)
@given(
    half=st.booleans(),
    queries=st.integers(1, 12),
    width=st.integers(1, 1000),
    share=st.sampled_from([0.0, 0.2, 0.99, 1.0]),
    rows=st.integers(1, 40),
    chunk=st.integers(1, 5000),
    workers=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_the_best_are_found_whatever_the_tiles_and_threads(
    stores: list[VectorStore],
    half: bool,
    queries: int,
    width: int,
    share: float,
    rows: int,
    chunk: int,
    workers: int,
    seed: int,
) -> None:
    store = stores[half]
    excluded = np.random.default_rng(seed).random(len(store)) < share
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top_k, "FEWEST_ROWS", rows)
        patch.setattr(top_k, "SCORES_AT_ONCE", 3 * rows * queries)
        patch.setattr(top_k, "FEWEST_SORTED", 1)
        patch.setattr(half_precision, "COPIED_AT_ONCE", 5)
        patch.setattr(scan, "CHUNK_BYTES", chunk)
        patch.setattr(scan, "FEWEST_QUERIES", 2)
        patch.setattr(scan, "MOST_QUERIES", 3)
        patch.setattr(scan, "_cores", lambda: workers)
        assert_nothing_nearer_is_left_out(store, unit_vectors(queries, 12, seed), width, excluded)


@pytest.mark.parametrize("half", [False, True])
def test_rows_in_an_order_that_gets_nearer_and_nearer_are_all_looked_at(
    tmp_path: Path, half: bool
) -> None:
    """Each is better than all before it, so every one passes."""
    angles = np.linspace(3, 0, 5000, dtype=np.float32)
    by_key = np.argsort(np.argsort(keys_of(5000)))
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)[by_key]
    store = make_store(tmp_path, vectors, dtype="float16" if half else "float32")
    query = np.array([[1, 0]], np.float32)
    assert (np.diff(store.rows(np.arange(5000))[:, 0]) >= 0).all()
    assert_nothing_nearer_is_left_out(store, query, 50, no_mask(store))


def test_rows_of_every_number_that_float16_holds_are_compared_as_numpy_reads_them(
    tmp_path: Path,
) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    every = every[np.isfinite(every)].reshape(-1, 8).astype(np.float32)
    store = make_store(tmp_path, every, dtype="float16")
    for at in range(8):
        query = np.eye(8, dtype=np.float32)[at : at + 1]
        for queries in (query, np.repeat(query, 2, axis=0)):
            found = ExactIndex(store).search(queries, len(store), no_mask(store))
            assert found.scores[-1].tolist() == store.rows(found.positions[-1])[:, at].tolist()


def test_many_rows_that_score_as_the_last_in_the_first_tile_hide_no_better_one_after_it(
    tmp_path: Path,
) -> None:
    for number, scores in enumerate(
        (
            [0.5] * 800 + [0.6, 0.7],
            [-0.5] * 3 + [-0.6] * 800 + [-0.5],
            [0.0] * 30 + [-0.0] * 800 + [1e-4],
        )
    ):
        by_key = np.argsort(np.argsort(keys_of(len(scores))))
        other = np.sqrt(1 - np.square(scores))
        vectors = np.stack([scores, other], axis=1)[by_key].astype(np.float32)
        (folder := tmp_path / str(number)).mkdir()
        store = make_store(folder, vectors)
        query = np.array([[1, 0]], np.float32)
        for queries in (query, np.repeat(query, 600, axis=0)):
            assert_nothing_nearer_is_left_out(store, queries, 5, no_mask(store))


def test_a_process_that_was_forked_searches_too(stores: list[VectorStore]) -> None:
    index, query = ExactIndex(stores[0]), unit_vectors(2, 12, 1)
    found = index.search(query, 5, no_mask(stores[0]))
    if not (child := os.fork()):
        again = index.search(query, 5, no_mask(stores[0]))
        os._exit(0 if again.positions.tolist() == found.positions.tolist() else 1)
    deadline = time.monotonic() + 60
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    assert ended == (child, 0)


def test_the_threads_of_the_libraries_are_as_before_after_a_search(
    stores: list[VectorStore],
) -> None:
    before = [library["num_threads"] for library in threadpool_info()]
    index = ExactIndex(stores[0])
    index.search(unit_vectors(3, 12, 1), 5, no_mask(stores[0]))
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        index.search(unit_vectors(3, 11, 1), 5, no_mask(stores[0]))
    assert [library["num_threads"] for library in threadpool_info()] == before
