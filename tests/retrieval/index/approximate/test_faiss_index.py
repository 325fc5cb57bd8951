"""What the adapters on FAISS hold to; that of a GPU where there is one, else on a stand-in."""

from collections.abc import Iterator
from pathlib import Path

import faiss
import numpy as np
import pytest

from core.errors import UserError
from retrieval.index.approximate.faiss_index import FaissIndex
from retrieval.index.approximate.hnsw import HnswIndex
from retrieval.index.approximate.ivf import IvfIndex
from retrieval.index.approximate.ivf_gpu import IvfGpuIndex
from retrieval.index.rescore import nearest
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.clusters import (
    DIMENSION,
    FIRST,
    ROWS,
    clustered,
    clustered_store,
    first_shards,
    recall_of,
)
from tests.retrieval.index.stores import make_store, no_mask, true_scores
from tests.support.gpu_of_faiss import stand_in

QUICK = {"ef_construction": 60, "ef_search": 100, "lists": 24, "probes": 14}
KINDS: list[type[FaissIndex]] = [HnswIndex, IvfIndex, IvfGpuIndex]


@pytest.fixture(scope="module", autouse=True)
def gpu() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def store(folder: Path) -> VectorStore:
    return clustered_store(folder)


@pytest.fixture(scope="module")
def half_store(tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    return clustered_store(tmp_path_factory.mktemp("half"), "float16")


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_in_half_precision_are_found_as_well(
    kind: type[FaissIndex], half_store: VectorStore
) -> None:
    assert recall_of(kind.build(half_store, QUICK), half_store).value > 0.97


@pytest.fixture(scope="module", params=KINDS)
def built(request: pytest.FixtureRequest, store: VectorStore) -> FaissIndex:
    kind: type[FaissIndex] = request.param
    return kind.build(store, QUICK)


@pytest.fixture
def saved(built: FaissIndex, tmp_path: Path) -> Path:
    """The file of the index."""
    built.save(tmp_path)
    return tmp_path / f"{built.kind}.faiss"


def test_nearly_all_of_the_nearest_are_found_in_their_order(
    built: FaissIndex, store: VectorStore
) -> None:
    assert recall_of(built, store).value > 0.98
    queries = clustered(20, 4)
    found = built.search(queries, 50, no_mask(store))
    assert (found.positions.dtype, found.scores.dtype) == (np.int64, np.float32)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    true = true_scores(store, queries, found.positions)
    assert np.quantile(np.abs(true - found.scores), 0.95) < 0.02  # of eight bits a number


def test_half_of_the_rows_left_out_do_not_come_back_and_all_places_are_filled(
    built: FaissIndex, store: VectorStore
) -> None:
    excluded = np.random.default_rng(1).random(ROWS) < 0.5
    positions, _ = nearest(built, store, clustered(40, 4), 30, excluded)
    assert not excluded[positions].any()
    assert all(len(set(row)) == 30 for row in positions.tolist())


def test_where_only_as_many_rows_as_asked_for_are_left_all_come(
    built: FaissIndex, store: VectorStore
) -> None:
    excluded = np.ones(ROWS, np.bool_)
    excluded[::50] = False
    positions, _ = nearest(built, store, clustered(5, 4), 32, excluded)
    assert np.sort(positions, axis=1).tolist() == [list(range(0, ROWS, 50))] * 5


def test_another_mask_is_looked_at_and_a_mask_that_changed_too(
    built: FaissIndex, store: VectorStore
) -> None:
    query = clustered(1, 4)
    excluded = no_mask(store)
    for _ in range(3):
        best = built.search(query, 1, excluded).positions[0, 0]
        assert not excluded[best]
        excluded[best] = True
    frozen = excluded.copy()
    frozen.flags.writeable = False
    assert [built.search(query, 1, frozen).positions[0, 0] for _ in range(2)] == [
        built.search(query, 1, excluded).positions[0, 0]
    ] * 2
    assert built.search(query, 1, no_mask(store)).positions[0, 0] != best


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_removed_is_gone_for_a_mask_that_was_used_before(
    kind: type[FaissIndex], folder: Path, store: VectorStore
) -> None:
    first = first_shards(folder, store)
    index = kind.build(first, QUICK)
    query, frozen = clustered(1, 4), no_mask(first)
    frozen.flags.writeable = False
    best = index.search(query, 2, frozen).positions[0]
    index.remove(best[:1])
    assert index.search(query, 1, frozen).positions[0, 0] == best[1]
    index.add(store)
    assert best[0] not in index.search(query, 50, no_mask(store)).positions


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_index_takes_in_rows_and_can_be_saved_again(
    kind: type[FaissIndex], folder: Path, store: VectorStore, tmp_path: Path
) -> None:
    first = first_shards(folder, store)
    assert len(first) == FIRST
    index = kind.build(first, QUICK)
    index.save(tmp_path)
    before = (tmp_path / f"{kind.kind}.faiss").read_bytes()
    loaded = kind.load(tmp_path, first, index.parameters)
    loaded.add(store)
    assert (tmp_path / f"{kind.kind}.faiss").read_bytes() == before
    queries = clustered(30, 4)
    found = loaded.search(queries, 50, no_mask(store)).positions
    assert (found >= FIRST).any()
    assert recall_of(loaded, store).value > 0.97
    (tmp_path / "grown").mkdir()
    loaded.save(tmp_path / "grown")
    again = kind.load(tmp_path / "grown", store, loaded.parameters)
    assert again.search(queries, 50, no_mask(store)).positions.tolist() == found.tolist()


def test_a_saved_index_is_the_one_that_is_loaded(
    built: FaissIndex, store: VectorStore, saved: Path
) -> None:
    loaded = type(built).load(saved.parent, store, built.parameters)
    queries = clustered(30, 4)
    one, two = (index.search(queries, 70, no_mask(store)) for index in (built, loaded))
    assert one.positions.tolist() == two.positions.tolist()
    assert one.scores.tolist() == two.scores.tolist()


def test_one_question_alone_finds_what_it_finds_among_others(
    built: FaissIndex, store: VectorStore
) -> None:
    queries = clustered(30, 4)
    together = built.search(queries, 40, no_mask(store)).positions
    alone = [built.search(query[None], 40, no_mask(store)).positions[0] for query in queries]
    assert together.tolist() == np.array(alone).tolist()


@pytest.mark.parametrize("damage", ["missing", "empty", "foreign", "half", "a row less"])
def test_a_file_that_is_not_an_index_is_refused_by_name(
    built: FaissIndex, store: VectorStore, saved: Path, damage: str
) -> None:
    whole = saved.read_bytes()
    left = {
        "empty": b"",
        "foreign": b"\x93NUMPY" + whole[6:],
        "half": whole[: len(whole) // 2],
        "a row less": whole[:-DIMENSION],
    }
    saved.unlink()
    if damage in left:
        saved.write_bytes(left[damage])
    with pytest.raises(UserError, match=f"{saved.name}.*quorum index build"):
        type(built).load(saved.parent, store, built.parameters)


def test_an_index_of_another_kind_is_refused_by_name(
    built: FaissIndex, store: VectorStore, saved: Path
) -> None:
    flat = faiss.IndexFlatIP(DIMENSION)
    flat.add(store.rows(np.arange(ROWS)))
    faiss.write_index(flat, str(saved))
    with pytest.raises(UserError, match=f"{saved.name} holds another kind of index"):
        type(built).load(saved.parent, store, built.parameters)


def test_an_index_of_other_rows_is_refused_by_name(
    built: FaissIndex, folder: Path, store: VectorStore, saved: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="holds 1,600 rows of 24 numbers instead of 1,300 of 24"):
        type(built).load(saved.parent, first_shards(folder, store), built.parameters)
    (tmp_path / "narrow").mkdir()
    narrow = make_store(tmp_path / "narrow", store.rows(np.arange(ROWS))[:, :16])
    with pytest.raises(UserError, match="holds 1,600 rows of 24 numbers instead of 1,600 of 16"):
        type(built).load(saved.parent, narrow, built.parameters)
