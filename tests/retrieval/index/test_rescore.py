from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UserError
from retrieval.index import rescore
from retrieval.index.exact.exact import ExactIndex
from retrieval.index.exact.gpu import GpuIndex
from retrieval.index.port import Neighbours, VectorIndex
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors
from tests.retrieval.index.stores import (
    brute_force,
    keys_of,
    make_store,
    no_mask,
    repeated,
    unit_vectors,
)
from tests.support.examples import examples


def assert_like_brute_force(
    index: VectorIndex, store: VectorStore, queries: Vectors, k: int, excluded: Mask
) -> None:
    positions, scores = nearest(index, store, queries, k, excluded)
    wanted_positions, wanted_scores = brute_force(store, queries, k, excluded)
    assert positions.tolist() == wanted_positions
    assert scores.tolist() == wanted_scores


class Off(ExactIndex):
    """Its scores are off by less than it says, and it finds by them."""

    margin = 0.05

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        found = super().search(queries, len(self._store), excluded)
        noise = np.random.default_rng(1).uniform(-1, 1, found.scores.shape) * self.margin
        scores = (found.scores + noise).astype(np.float32)
        best = np.argsort(-scores, axis=1)[:, :width]
        return Neighbours(
            np.take_along_axis(found.positions, best, axis=1),
            np.take_along_axis(scores, best, axis=1),
            self.margin + 1e-6,
        )


class Blind(ExactIndex):
    """Approximate: it sees every third row only."""

    exact: ClassVar[bool] = False

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        unseen = np.arange(len(self._store)) % 3 > 0
        return super().search(queries, width, excluded | unseen)


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data(), pairs=st.integers(1, 120), dimension=st.integers(1, 17))
@pytest.mark.parametrize("kind", [ExactIndex, GpuIndex, Off])
def test_search_finds_what_brute_force_finds(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    kind: type[VectorIndex],
    pairs: int,
    dimension: int,
) -> None:
    seed = data.draw(st.integers(0, 10_000))
    vectors = repeated(pairs, dimension, seed, copies=data.draw(st.sampled_from([1, 3, 40])))
    excluded = np.random.default_rng(seed).random(pairs) < data.draw(st.sampled_from([0, 0.3, 0.9]))
    excluded[data.draw(st.integers(0, pairs - 1))] = False
    cuts = data.draw(st.lists(st.integers(1, pairs), max_size=5))
    dtype = data.draw(st.sampled_from(["float32", "float16"]))
    store = make_store(tmp_path_factory.mktemp("store"), vectors, cuts=cuts, dtype=dtype)
    index = kind.build(store, {"device": "cpu"})
    k = data.draw(st.integers(1, int((~excluded).sum())))
    queries = unit_vectors(data.draw(st.integers(0, 5)), dimension, seed + 1)
    assert_like_brute_force(index, store, queries, k, excluded)


@settings(max_examples=examples(8), deadline=None)
@given(order=st.permutations(range(7)), size=st.integers(1, 9), results=st.integers(1, 500))
def test_a_ranking_depends_on_neither_shards_nor_batches(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], size: int, results: int
) -> None:
    vectors = repeated(210, 8, 5, copies=4)
    queries = unit_vectors(9, 8, 6)
    folder = tmp_path_factory.mktemp("store")
    whole = make_store(folder, vectors, cuts=range(0, 210, 30))
    wanted, wanted_scores = nearest(ExactIndex(whole), whole, queries, 25, no_mask(whole))
    other = VectorStore(folder, whole.identity, [whole.shards[at] for at in order])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rescore, "RESULTS_PER_CALL", results)
        patch.setattr(rescore, "RESCORED_BYTES", results * 100)
        for start in range(0, 9, size):
            some = slice(start, start + size)
            at, scores = nearest(ExactIndex(other), other, queries[some], 25, no_mask(other))
            assert other.keys[at].tolist() == whole.keys[wanted[some]].tolist()
            assert scores.tolist() == wanted_scores[some].tolist()


def test_equal_vectors_stand_in_the_order_of_their_keys(tmp_path: Path) -> None:
    vectors = np.repeat(unit_vectors(3, 5, 1), 200, axis=0)
    store = make_store(tmp_path, vectors, cuts=[70, 150, 400])
    positions, scores = nearest(ExactIndex(store), store, vectors[:1], 30, no_mask(store))
    assert (
        store.keys[positions[0]].tolist()
        == sorted(bytes.fromhex(key).rstrip(b"\0") for key in keys_of(200))[:30]
    )
    assert scores.tolist() == [[1.0] * 30]


def test_scores_that_differ_by_less_than_a_millionth_are_equal(tmp_path: Path) -> None:
    vectors = np.zeros((50, 2), np.float32)
    angles = np.linspace(1e-4, 0, 50)  # the last is nearest, by less than the rounding
    vectors[:, 0], vectors[:, 1] = np.cos(angles), np.sin(angles)
    store = make_store(tmp_path, vectors)
    query = np.array([[1, 0]], np.float32)
    positions, _ = nearest(ExactIndex(store), store, query, 10, no_mask(store))
    assert positions.tolist() == [list(range(10))]  # of one shard: in the order of the keys


def test_opposite_vectors_that_all_score_minus_one_stand_in_the_order_of_their_keys(
    tmp_path: Path,
) -> None:
    """float16 makes some longer than 1: they score below minus one before they are cut to it."""
    query = unit_vectors(1, 7, 3)
    store = make_store(tmp_path, np.concatenate([-query * (1 + n / 5000) for n in range(200)]))
    positions, scores = nearest(ExactIndex(store), store, query, 3, no_mask(store))
    wanted, _ = brute_force(store, query, 3, no_mask(store))
    assert (positions.tolist(), scores.tolist()) == (wanted, [[-1.0] * 3])


def test_exactly_k_are_found_when_all_the_nearest_are_excluded(tmp_path: Path) -> None:
    queries = unit_vectors(5, 8, 4)
    store = make_store(tmp_path, unit_vectors(3000, 8, 3), cuts=[1000, 2000])
    excluded = np.zeros(3000, np.bool_)
    near = np.argsort(-(store.rows(np.arange(3000)) @ queries[0]))
    excluded[near[:2900]] = True
    assert_like_brute_force(ExactIndex(store), store, queries, 30, excluded)


@pytest.mark.parametrize("k", [9, 30])
def test_what_an_approximate_index_finds_too_little_of_is_searched_exactly(
    tmp_path: Path, k: int
) -> None:
    store = make_store(tmp_path, unit_vectors(60, 6, 1))
    queries = unit_vectors(4, 6, 2)
    positions, _ = nearest(Blind(store), store, queries, k, no_mask(store))
    if k > 20:
        assert positions.tolist() == brute_force(store, queries, k, no_mask(store))[0]
    else:  # it found enough, and is believed
        unseen = np.arange(60) % 3 > 0
        assert positions.tolist() == brute_force(store, queries, k, unseen)[0]


def test_more_than_may_be_found_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path, unit_vectors(20, 4, 1))
    excluded = np.arange(20) < 8
    with pytest.raises(UserError, match="Only 12 pairs can be found of the 13 asked for: ask for"):
        nearest(ExactIndex(store), store, unit_vectors(1, 4, 2), 13, excluded)


def test_one_vector_more_is_asked_for_until_no_other_can_be_nearer(tmp_path: Path) -> None:
    """Hundreds of copies score the same: which of them come first is known by all of them."""
    asked: list[int] = []

    class Counted(ExactIndex):
        def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
            asked.append(width)
            return super().search(queries, width, excluded)

    vectors = np.concatenate([np.repeat(unit_vectors(1, 4, 1), 300, axis=0), unit_vectors(9, 4, 2)])
    store = make_store(tmp_path, vectors)
    nearest(Counted(store), store, vectors[:1], 1, no_mask(store))
    assert asked == [12, 48, 192, 309]
