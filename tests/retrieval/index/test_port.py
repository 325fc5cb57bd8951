"""The contract of the port, of the kinds that compare every row."""

from pathlib import Path

import numpy as np
import pytest

from retrieval.index.exact.exact import ExactIndex
from retrieval.index.exact.gpu import GpuIndex
from retrieval.index.port import VectorIndex, rounding_error
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.stores import make_store, no_mask, true_scores, unit_vectors

KINDS: list[type[VectorIndex]] = [ExactIndex, GpuIndex]
ON_CPU = {"device": "cpu"}


@pytest.fixture(params=["float32", "float16"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> VectorStore:
    return make_store(tmp_path, unit_vectors(300, 16, 1), cuts=[40, 41, 200], dtype=request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_come_first_with_their_scores(
    kind: type[VectorIndex], store: VectorStore
) -> None:
    queries = unit_vectors(7, 16, 2)
    found = kind.build(store, ON_CPU).search(queries, 20, no_mask(store))
    assert (found.positions.shape, found.positions.dtype) == ((7, 20), np.int64)
    assert (found.scores.shape, found.scores.dtype) == ((7, 20), np.float32)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    true = true_scores(store, queries, found.positions)
    assert np.abs(true - found.scores).max() <= found.margin
    every = np.sort(true_scores(store, queries, np.tile(np.arange(300), (7, 1))), axis=1)
    np.testing.assert_allclose(np.sort(true, axis=1), every[:, -20:], atol=2 * found.margin)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_excluded_or_removed_are_not_found_and_places_without_a_row_stay_empty(
    kind: type[VectorIndex], store: VectorStore
) -> None:
    index = kind.build(store, ON_CPU)
    index.remove(np.array([3, 299]))
    excluded = np.ones(300, np.bool_)
    excluded[[3, 7, 150, 299]] = False
    found = index.search(unit_vectors(2, 16, 2), 5, excluded)
    assert [sorted(row) for row in found.positions.tolist()] == [[-1, -1, -1, 7, 150]] * 2
    assert np.isneginf(found.scores[:, 2:]).all()
    assert np.isfinite(found.scores[:, :2]).all()
    found = index.search(unit_vectors(2, 16, 2), 300, no_mask(store))
    assert (found.positions[:, -2:] == -1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_shards_added_are_found_and_what_was_removed_stays_so(
    kind: type[VectorIndex], store: VectorStore, tmp_path: Path
) -> None:
    before = VectorStore(tmp_path, store.identity, store.shards[:2])
    index = kind.build(before, ON_CPU)
    index.remove(np.array([5]))
    index.add(store)
    found = index.search(unit_vectors(1, 16, 2), 300, no_mask(store))
    assert sorted(found.positions[0].tolist()) == sorted({*range(300), -1} - {5})


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_index_finds_the_same(
    kind: type[VectorIndex], store: VectorStore, tmp_path: Path
) -> None:
    index = kind.build(store, ON_CPU)
    (tmp_path / "version").mkdir()
    index.save(tmp_path / "version")
    again = kind.load(tmp_path / "version", store, index.parameters)
    queries = unit_vectors(3, 16, 2)
    one, two = (one.search(queries, 9, no_mask(store)) for one in (index, again))
    assert one.positions.tolist() == two.positions.tolist()
    assert one.scores.tolist() == two.scores.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_no_query_finds_nothing(kind: type[VectorIndex], store: VectorStore) -> None:
    found = kind.build(store, ON_CPU).search(unit_vectors(0, 16, 1), 4, no_mask(store))
    assert (found.positions.shape, found.scores.shape) == ((0, 4), (0, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_store_holds_nothing(kind: type[VectorIndex], store: VectorStore) -> None:
    empty = VectorStore(Path("nowhere"), store.identity, [])
    found = kind.build(empty, ON_CPU).search(unit_vectors(2, 16, 1), 3, no_mask(empty))
    assert found.positions.tolist() == [[-1] * 3] * 2


def test_sums_in_single_precision_are_off_by_less_than_their_bound() -> None:
    rows, queries = unit_vectors(400, 768, 1), unit_vectors(400, 768, 2)
    one_by_one = np.zeros(400, np.float32)
    for at in range(768):
        one_by_one += rows[:, at] * queries[:, at]
    true = (rows.astype(np.float64) * queries).sum(axis=1)
    assert 1e-9 < np.abs(one_by_one - true).max() < rounding_error(768)
