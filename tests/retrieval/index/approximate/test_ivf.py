from pathlib import Path

import faiss
import numpy as np
import pytest

from retrieval.index.approximate.ivf import MOST_LISTS, IvfIndex, lists_for
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.clusters import DIMENSION, clustered_store, recall_of
from tests.retrieval.index.stores import make_store, no_mask, unit_vectors


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    return clustered_store(tmp_path_factory.mktemp("store"))


@pytest.mark.parametrize(
    ("rows", "lists"),
    [(1, 1), (99, 1), (1_000, 20), (10_000, 200), (177_281, 1684), (6_300_000, MOST_LISTS)],
)
def test_lists_grow_with_the_rows_and_have_enough_to_learn_from(rows: int, lists: int) -> None:
    assert lists_for(rows) == lists


def test_the_probes_grow_with_the_recall_wanted_and_give_it(store: VectorStore) -> None:
    built = [IvfIndex.build(store, {"recall": recall}) for recall in (0.4, 0.9)]
    low, high = (int(str(one.parameters["probes"])) for one in built)
    assert low < high <= 24
    assert recall_of(built[0], store).value < recall_of(built[1], store, 300).value
    assert recall_of(built[1], store, 300).value >= 0.89


def test_the_same_rows_make_the_same_file_twice(store: VectorStore, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        IvfIndex.build(store, {"probes": 5}).save(tmp_path / name)
    one, two = ((tmp_path / name / "ivf.faiss").read_bytes() for name in ("one", "two"))
    assert one == two


def test_few_probes_find_few_rows_and_leave_the_other_places_empty(store: VectorStore) -> None:
    index = IvfIndex.build(store, {"lists": 300, "probes": 1})
    found = index.search(store.rows(np.arange(5)), 400, no_mask(store))
    assert (found.positions[:, 0] == np.arange(5)).all()
    assert (found.positions[:, -1] == -1).all()
    assert np.isneginf(found.scores[:, -1]).all()


def test_learning_from_few_rows_says_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = make_store(tmp_path, unit_vectors(150, DIMENSION, 1))
    index = IvfIndex.build(store, {"lists": 20})
    assert isinstance(index._index, faiss.IndexIVFScalarQuantizer)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_few_rows_are_enough(tmp_path: Path, rows: int) -> None:
    store = make_store(tmp_path, unit_vectors(rows, DIMENSION, 1))
    found = IvfIndex.build(store, {}).search(store.rows(np.array([0])), 6, no_mask(store))
    assert sorted(found.positions[0].tolist()) == [-1] * (6 - rows) + list(range(rows))
