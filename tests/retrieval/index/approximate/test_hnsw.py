from pathlib import Path

import faiss
import numpy as np
import pytest

from retrieval.index.approximate.hnsw import HnswIndex
from retrieval.index.recall import measure
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.clusters import (
    DIMENSION,
    clustered,
    clustered_store,
    first_shards,
    recall_of,
)
from tests.retrieval.index.stores import make_store, no_mask, unit_vectors

QUICK = {"ef_construction": 60, "ef_search": 100}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def store(folder: Path) -> VectorStore:
    return clustered_store(folder)


def test_the_same_rows_make_the_same_file_however_many_threads_build_it(
    folder: Path, store: VectorStore, tmp_path: Path
) -> None:
    first = first_shards(folder, store)
    files = []
    threads = faiss.omp_get_max_threads()
    try:
        for number in (1, 2):
            faiss.omp_set_num_threads(number)
            (tmp_path / str(number)).mkdir()
            HnswIndex.build(first, QUICK).save(tmp_path / str(number))
            files.append((tmp_path / str(number) / "hnsw.faiss").read_bytes())
    finally:
        faiss.omp_set_num_threads(threads)
    assert files[0] == files[1]


def test_rows_before_and_after_many_additions_are_found_alike(tmp_path: Path) -> None:
    vectors = clustered(800, 5)
    edges = [20, 50, 90, 200, 400, 401]
    store = make_store(tmp_path, vectors, cuts=edges)
    index = HnswIndex.build(VectorStore(tmp_path, store.identity, store.shards[:1]), QUICK)
    for count in range(2, len(store.shards) + 1):
        index.add(VectorStore(tmp_path, store.identity, store.shards[:count]))
    found = index.search(store.rows(np.arange(800)), 20, no_mask(store)).positions
    assert (found == np.arange(800)[:, None]).any(axis=1).mean() > 0.99
    assert recall_of(index, store).value > 0.97


def test_a_crowd_of_equal_rows_does_not_hide_the_others(tmp_path: Path) -> None:
    """More copies than a row has links."""
    vectors = clustered(1000, 6)
    vectors[::10] = vectors[0]
    store = make_store(tmp_path, vectors)
    index = HnswIndex.build(store, QUICK)
    assert recall_of(index, store).value > 0.97
    excluded = (store.rows(np.arange(1000)) == vectors[0]).all(axis=1)
    assert excluded.sum() == 100
    own = np.full(50, -1)
    assert measure(index, store, clustered(50, 7), own, excluded).value > 0.95


def test_ef_search_grows_with_the_recall_wanted(store: VectorStore) -> None:
    built = [
        HnswIndex.build(store, {"links": 4, "ef_construction": 10, "recall": recall})
        for recall in (0.5, 0.99)
    ]
    low, high = (int(str(one.parameters["ef_search"])) for one in built)
    assert low == 70 < high
    assert recall_of(built[1], store, 300).value >= 0.985


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_few_rows_are_enough(tmp_path: Path, rows: int) -> None:
    store = make_store(tmp_path, unit_vectors(rows, DIMENSION, 1))
    found = HnswIndex.build(store, {}).search(store.rows(np.array([0])), 6, no_mask(store))
    assert sorted(found.positions[0].tolist()) == [-1] * (6 - rows) + list(range(rows))
