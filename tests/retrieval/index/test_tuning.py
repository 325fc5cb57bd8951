"""An index has the recall that it was tuned for, of questions that it has never met, or says so."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.retrieval.vectors import unit
from retrieval.index.approximate.hnsw import HnswIndex
from retrieval.index.approximate.ivf import IvfIndex
from retrieval.index.recall import as_new, measure
from retrieval.index.tuning import sample
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Vectors
from tests.retrieval.index.clusters import clustered
from tests.retrieval.index.stores import make_store, no_mask, repeated, true_scores, unit_vectors

Make = Callable[[int, int], Vectors]  # of so many, by a seed

KINDS: dict[str, Make] = {
    "clusters": clustered,
    "uniform": lambda count, seed: unit_vectors(count, 24, seed),
    "copies": lambda count, seed: np.repeat(clustered(count // 4, seed, 5), 4, axis=0),
}
# Of 1,000 queries' mean, and of how alike moved rows and new ones are.
ERROR = 0.01


def recall_by_brute_force(index: HnswIndex | IvfIndex, store: VectorStore, new: Vectors) -> float:
    scores = new.astype(np.float64) @ store.rows(np.arange(len(store))).astype(np.float64).T
    last = -np.sort(-scores, axis=1)[:, 29:30]
    found = index.search(new, 72, no_mask(store)).positions
    # A row beyond the last by rounding alone stands for it.
    hits = (true_scores(store, new, found) >= last - 1e-6).sum(axis=1)
    return float((np.minimum(hits, 30) / 30).mean())


@pytest.mark.parametrize("data", KINDS)
@pytest.mark.parametrize("rows", [300, 4000])
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [(HnswIndex, {"links": 4, "ef_construction": 10}), (IvfIndex, {})],
    ids=["hnsw", "ivf"],
)
@pytest.mark.parametrize("wanted", [0.9, 0.98])
def test_the_recall_wanted_is_had_of_new_questions_or_the_measure_says_that_it_is_not(
    tmp_path: Path,
    data: str,
    rows: int,
    kind: type[HnswIndex] | type[IvfIndex],
    parameters: dict[str, object],
    wanted: float,
) -> None:
    store = make_store(tmp_path, KINDS[data](rows, 2), cuts=[rows // 3])
    index = kind.build(store, parameters | {"recall": wanted})
    own = sample(store, 500)
    queries = as_new(store, store.rows(own), own)
    claimed = measure(index, store, queries, np.full(len(own), -1), no_mask(store)).value
    new = KINDS[data](1000, 7)
    assert claimed < wanted or recall_by_brute_force(index, store, new) >= wanted - ERROR


def test_moved_rows_are_no_rows_of_the_store_but_near_their_own(tmp_path: Path) -> None:
    store = make_store(tmp_path, repeated(900, 24, 3, copies=6))
    own = np.arange(0, 900, 9)
    rows = store.rows(own)
    moved = as_new(store, rows, own)
    nearest = (moved @ store.rows(np.arange(900)).T).max(axis=1)
    assert nearest.max() < 0.9999
    assert ((moved * rows).sum(axis=1) > 0.3).all()
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1, atol=1e-5)


def test_of_copies_of_one_row_nothing_can_be_moved(tmp_path: Path) -> None:
    store = make_store(tmp_path, np.repeat(unit_vectors(1, 24, 1), 50, axis=0))
    own = np.array([0, 7])
    np.testing.assert_allclose(as_new(store, store.rows(own), own), store.rows(own), atol=1e-6)


def test_a_graph_finds_as_much_of_moved_rows_as_of_new_ones_and_more_of_its_own(
    tmp_path: Path,
) -> None:
    spread = (np.arange(128, dtype=np.float32) + 10) ** -0.75
    topics = np.random.default_rng(0).standard_normal((3000, 128), np.float32) * spread

    def many_directions(count: int, seed: int) -> Vectors:
        dice = np.random.default_rng(seed)
        near = topics[dice.integers(0, len(topics), count)]
        return unit(near + dice.standard_normal((count, 128), np.float32) * spread)

    store = make_store(tmp_path, many_directions(6000, 1))
    index = HnswIndex.build(store, {"links": 8, "ef_construction": 40, "ef_search": 70})
    new = recall_by_brute_force(index, store, many_directions(1000, 2))
    own, held_out = sample(store, 500), no_mask(store)
    moved = as_new(store, store.rows(own), own)
    assert recall_by_brute_force(index, store, moved) == pytest.approx(new, abs=0.015)
    held_out[own] = True
    assert measure(index, store, store.rows(own), own, held_out).value > new + 0.015
