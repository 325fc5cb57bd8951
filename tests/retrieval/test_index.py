import hashlib
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from retrieval import index as index_module
from retrieval.errors import UserError
from retrieval.index import IndexWriter, VectorIndex, open_index
from retrieval.store import PAIR_KEYS, VECTORS
from retrieval.vectors import Vectors


def sorted_keys(count: int) -> list[str]:
    return sorted(hashlib.sha256(str(n).encode()).hexdigest() for n in range(count))


def unit_vectors(count: int, dimension: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def make_index(folder: Path, vectors: Vectors, chunk: int = 7) -> VectorIndex:
    writer = IndexWriter(vectors.shape[1])
    keys = sorted_keys(len(vectors))
    for start in range(0, len(keys), chunk):
        writer.add(keys[start : start + chunk], vectors[start : start + chunk])
    writer.write(folder)
    return open_index(folder, manifest_of(vectors))


def manifest_of(vectors: Vectors) -> dict[str, object]:
    pairs, dimension = vectors.shape
    return {"pairs": pairs, "dimension": dimension, "model": "m", "form": "QQ"}


def brute_force(
    vectors: Vectors, queries: Vectors, k: int, excluded: NDArray[np.bool_]
) -> tuple[list[list[int]], list[list[float]]]:
    positions, scores = [], []
    for query in queries.astype(np.float64):
        cosines = [round(float(v), 6) for v in vectors.astype(np.float64) @ query]
        allowed = [at for at in range(len(vectors)) if not excluded[at]]
        best = sorted(allowed, key=lambda at: (-cosines[at], at))[:k]
        positions.append(best)
        scores.append([cosines[at] for at in best])
    return positions, scores


def assert_like_brute_force(
    index: VectorIndex, vectors: Vectors, queries: Vectors, k: int, excluded: NDArray[np.bool_]
) -> None:
    positions, scores = index.search(queries, k, excluded)
    wanted_positions, wanted_scores = brute_force(vectors, queries, k, excluded)
    assert positions.tolist() == wanted_positions
    wanted = np.clip(wanted_scores, -1, 1).reshape(scores.shape)
    np.testing.assert_allclose(scores, wanted, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(
    pairs=st.integers(1, 150),
    queries=st.integers(0, 9),
    dimension=st.integers(1, 17),
    k=st.integers(1, 150),
    seed=st.integers(0, 10_000),
    copies=st.sampled_from([1, 3, 40]),
    share_excluded=st.sampled_from([0.0, 0.3, 0.9]),
)
def test_search_finds_what_brute_force_finds(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: int,
    queries: int,
    dimension: int,
    k: int,
    seed: int,
    copies: int,
    share_excluded: float,
) -> None:
    rng = np.random.default_rng(seed)
    distinct = unit_vectors(1 + pairs // copies, dimension, seed)
    vectors = distinct[rng.integers(0, len(distinct), pairs)]
    excluded = rng.random(pairs) < share_excluded
    excluded[rng.integers(0, pairs)] = False
    k = min(k, int((~excluded).sum()))
    index = make_index(tmp_path_factory.mktemp("index"), vectors)
    asked = unit_vectors(queries, dimension, seed + 1)
    assert_like_brute_force(index, vectors, asked, k, excluded)


def test_equal_vectors_stand_in_the_order_of_their_keys(tmp_path: Path) -> None:
    vectors = np.repeat(unit_vectors(3, 5, 1), 200, axis=0)
    index = make_index(tmp_path, vectors)
    positions, scores = index.search(vectors[:1], 30, np.zeros(600, bool))
    assert positions.tolist() == [list(range(30))]
    assert scores.tolist() == [[1.0] * 30]


def test_scores_that_differ_by_less_than_a_millionth_are_equal(tmp_path: Path) -> None:
    vectors = np.zeros((50, 2), np.float32)
    angles = np.linspace(1e-4, 0, 50)  # the last is nearest, by less than the rounding
    vectors[:, 0], vectors[:, 1] = np.cos(angles), np.sin(angles)
    index = make_index(tmp_path, vectors)
    positions, _ = index.search(np.array([[1, 0]], np.float32), 10, np.zeros(50, bool))
    assert positions.tolist() == [list(range(10))]


def test_exactly_k_are_found_when_all_the_nearest_are_excluded(tmp_path: Path) -> None:
    vectors = unit_vectors(3000, 8, 3)
    queries = unit_vectors(5, 8, 4)
    index = make_index(tmp_path, vectors, chunk=1000)
    excluded = np.zeros(3000, bool)
    excluded[np.argsort(-(vectors @ queries[0]))[:2900]] = True
    assert_like_brute_force(index, vectors, queries, 30, excluded)


def test_many_queries_are_searched_in_several_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "QUERIES_PER_CALL", 3)
    monkeypatch.setattr(index_module, "RESULTS_PER_CALL", 100)
    vectors = unit_vectors(80, 6, 1)
    index = make_index(tmp_path, vectors)
    assert_like_brute_force(index, vectors, unit_vectors(10, 6, 2), 12, np.zeros(80, bool))


def test_every_search_is_a_matrix_product() -> None:
    assert faiss.cvar.distance_compute_blas_threshold == 1


def test_vectors_come_back_by_key(tmp_path: Path) -> None:
    vectors = unit_vectors(20, 4, 1)
    index = make_index(tmp_path, vectors)
    keys = sorted_keys(20)
    positions = index.positions([keys[13], keys[0], "f" * 64, keys[19], "0" * 64])
    assert positions.tolist() == [13, 0, -1, 19, -1]
    np.testing.assert_array_equal(index.vectors(np.array([13, 0])), vectors[[13, 0]])


def test_a_model_that_gives_no_numbers_is_refused() -> None:
    writer = IndexWriter(2)
    with pytest.raises(UserError, match="not of numbers"):
        writer.add(sorted_keys(1), np.array([[np.nan, 1]], np.float32))
    with pytest.raises(UserError, match=r"vectors of shape \(1, 3\)"):
        writer.add(sorted_keys(1), np.zeros((1, 3), np.float32))


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    vectors = unit_vectors(20, 4, 1)
    make_index(tmp_path, vectors)
    faiss.write_index(faiss.IndexFlatL2(4), str(tmp_path / VECTORS))
    with pytest.raises(UserError, match="is not what its manifest says"):
        open_index(tmp_path, manifest_of(vectors))
    (tmp_path / VECTORS).write_bytes(b"no index at all")
    with pytest.raises(UserError, match=r"cannot be read: run `manage.py index"):
        open_index(tmp_path, manifest_of(vectors))


def test_keys_of_another_number_of_pairs_are_refused(tmp_path: Path) -> None:
    vectors = unit_vectors(20, 4, 1)
    make_index(tmp_path, vectors)
    np.save(tmp_path / PAIR_KEYS, np.zeros(19, "S32"))
    with pytest.raises(UserError, match="is not what its manifest says"):
        open_index(tmp_path, manifest_of(vectors))
