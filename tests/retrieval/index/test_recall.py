from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.index.exact.exact import ExactIndex
from retrieval.index.port import Neighbours
from retrieval.index.recall import measure, wilson_low
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask, Vectors
from tests.retrieval.index.stores import brute_force, make_store, no_mask, repeated, unit_vectors
from tests.support.examples import examples


class ForgetfulIndex(ExactIndex):
    """Knows only the rows whose position is none of these."""

    parameters: Mapping[str, object] = {}

    def __init__(self, store: VectorStore, forgotten: Mask) -> None:
        super().__init__(store)
        self._forgotten = forgotten

    def search(self, queries: Vectors, width: int, excluded: Mask) -> Neighbours:
        return super().search(queries, width, excluded | self._forgotten)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    return make_store(tmp_path_factory.mktemp("s"), unit_vectors(400, 10, 1), cuts=[150])


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    return make_store(tmp_path_factory.mktemp("c"), repeated(300, 10, 2, copies=15), cuts=[99])


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 999), share=st.floats(0, 0.9), at=st.integers(1, 30))
def test_it_is_the_share_that_a_brute_force_finds_again(
    store: VectorStore, seed: int, share: float, at: int
) -> None:
    random = np.random.default_rng(seed)
    forgotten, excluded = random.random(400) < share, random.random(400) < 0.2
    own = random.integers(0, 400, 6)
    queries = store.rows(own)
    recall = measure(ForgetfulIndex(store, forgotten), store, queries, own, excluded, at)
    shares = []
    for query, row in zip(queries, own, strict=True):
        without = excluded.copy()
        without[row] = True
        [nearest], _ = brute_force(store, query[None], at, without)
        shares.append(np.mean([not forgotten[position] for position in nearest]))
    assert recall.value == pytest.approx(np.mean(shares))
    assert (recall.at, recall.sample) == (at, 6)
    assert recall.low <= recall.value


def test_an_exact_index_finds_all_but_how_sure_that_is_depends_on_the_sample(
    store: VectorStore,
) -> None:
    lows = []
    for count in (10, 100, 1000):
        queries = unit_vectors(count, 10, 5)
        own = np.full(count, -1)
        recall = measure(ExactIndex(store), store, queries, own, no_mask(store))
        assert (recall.at, recall.value) == (30, 1.0)
        lows.append(recall.low)
    assert lows == sorted(lows)
    assert lows[0] < 0.8
    assert lows[2] > 0.99


def test_a_row_that_scores_as_the_last_of_the_nearest_stands_for_it(copies: VectorStore) -> None:
    """Of about fifteen equal rows the best three are any three."""
    rows = copies.rows(np.arange(300))
    _, groups, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    seen = np.zeros(len(sizes), np.int64)
    forgotten = np.zeros(300, np.bool_)
    for position, group in enumerate(groups.ravel()):
        forgotten[position] = seen[group] < sizes[group] - 3
        seen[group] += 1
    index = ForgetfulIndex(copies, forgotten)
    queries, own = np.unique(rows, axis=0), np.full(len(sizes), -1)
    assert measure(index, copies, queries, own, no_mask(copies), 3).value == 1.0
    assert measure(index, copies, queries, own, no_mask(copies), 4).value == pytest.approx(0.75)


def test_the_row_that_a_query_was_made_of_counts_for_nobody(store: VectorStore) -> None:
    """An index that knows these rows alone finds nothing."""
    own = np.arange(0, 400, 40)
    only = np.ones(400, np.bool_)
    only[own] = False
    queries = store.rows(own)
    found = measure(ForgetfulIndex(store, only), store, queries, own, no_mask(store), 1)
    assert found.value == 0.0
    nobody = np.full(len(own), -1)
    assert (
        measure(ForgetfulIndex(store, only), store, queries, nobody, no_mask(store), 1).value == 1
    )


def test_rows_left_out_are_missed_by_nobody(store: VectorStore) -> None:
    excluded = np.random.default_rng(1).random(400) < 0.5
    index = ForgetfulIndex(store, excluded)
    queries, own = unit_vectors(20, 10, 3), np.full(20, -1)
    assert measure(index, store, queries, own, excluded).value == 1.0
    assert measure(index, store, queries, own, no_mask(store)).value < 0.7


def test_a_search_that_would_have_to_compare_every_row_counts_as_missed(
    store: VectorStore,
) -> None:
    forgotten = np.ones(400, np.bool_)
    forgotten[:3] = False
    queries, own = unit_vectors(20, 10, 3), np.full(20, -1)
    found = measure(ForgetfulIndex(store, forgotten), store, queries, own, no_mask(store))
    assert 0 <= found.value <= 0.1


@pytest.mark.parametrize(("rows", "at"), [(31, 30), (12, 11), (2, 1)])
def test_of_few_rows_it_is_the_share_of_all_others(tmp_path: Path, rows: int, at: int) -> None:
    few = make_store(tmp_path, unit_vectors(rows, 10, 1))
    own = np.array([0, 1])
    recall = measure(ExactIndex(few), few, few.rows(own), own, no_mask(few))
    assert (recall.at, recall.value) == (at, 1.0)


def test_where_nothing_can_be_found_nothing_is_said(tmp_path: Path) -> None:
    one = make_store(tmp_path, unit_vectors(1, 10, 1))
    own = np.array([0])
    recall = measure(ExactIndex(one), one, one.rows(own), own, no_mask(one))
    assert (recall.sample, recall.low) == (0, 0.0)


@pytest.mark.parametrize(
    ("share", "sample", "low"),
    [(1.0, 500, 0.99238), (0.99, 500, 0.97681), (0.5, 10, 0.23659), (0.0, 10, 0.0)],
)
def test_the_lower_end_is_wilsons(share: float, sample: int, low: float) -> None:
    """Of scipy's binomtest(...).proportion_ci(method="wilson")."""
    assert wilson_low(share, sample) == pytest.approx(low, abs=2e-5)
