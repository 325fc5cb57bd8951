"""What `ivf-gpu` has of its own; test_faiss_index holds what it shares with the others."""

from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UserError
from retrieval.index.approximate import ivf_gpu
from retrieval.index.approximate.ivf import IvfIndex
from retrieval.index.approximate.ivf_gpu import IvfGpuIndex
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.clusters import ROWS, clustered, clustered_store
from tests.retrieval.index.stores import make_store, no_mask, unit_vectors
from tests.support.examples import examples
from tests.support.gpu_of_faiss import MOST, stand_in

ALL = {"lists": 20, "probes": 20}  # so every row is looked at


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> VectorStore:
    return clustered_store(tmp_path_factory.mktemp("store"))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)


@pytest.mark.usefixtures("gpu")
def test_its_file_is_one_of_ivf(store: VectorStore, tmp_path: Path) -> None:
    index = IvfGpuIndex.build(store, ALL)
    index.save(tmp_path)
    (tmp_path / "ivf-gpu.faiss").rename(tmp_path / "ivf.faiss")
    other = IvfIndex.load(tmp_path, store, index.parameters)
    queries = clustered(20, 4)
    one, two = (each.search(queries, 30, no_mask(store)) for each in (index, other))
    assert np.abs(one.scores - two.scores).max() < 1e-5
    assert (one.positions == two.positions).mean() > 0.99


@settings(max_examples=examples(25), deadline=None)
@given(
    most=st.sampled_from([30, 200, MOST]),
    at_once=st.integers(1, 9),
    width=st.sampled_from([1, 20, 30, 70, ROWS]),
    share=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    seed=st.integers(0, 1000),
)
def test_excluded_rows_do_not_come_back_and_the_nearest_of_the_others_do(
    store: VectorStore, most: int, at_once: int, width: int, share: float, seed: int
) -> None:
    """As many of them as the most that a GPU finds hold, and all that are wanted where they do."""
    excluded = np.random.default_rng(seed).random(ROWS) < share
    queries = clustered(5, seed)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(patch)
        patch.setattr(ivf_gpu, "MOST", most)
        patch.setattr(ivf_gpu, "QUERIES_AT_ONCE", at_once)
        index = IvfGpuIndex.build(store, ALL)
        found = index.search(queries, width, excluded)
        every = index._copy.search(queries, ROWS, params=faiss.SearchParametersIVF(nprobe=20))[1]
    for mine, ranked in zip(found.positions, every, strict=True):
        seen = ranked[:most]
        expected = seen[~excluded[seen]][:width].tolist()
        assert mine.tolist() == expected + [-1] * (width - len(expected))
    assert (np.isneginf(found.scores) == (found.positions < 0)).all()


@pytest.mark.usefixtures("gpu")
def test_no_more_lists_are_tried_than_a_gpu_looks_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(IvfGpuIndex, "most_probes", 3)
    store = make_store(tmp_path, unit_vectors(400, 24, 1))
    index = IvfGpuIndex.build(store, {"lists": 20, "recall": 1.0})
    assert index.parameters["probes"] == 3


@pytest.mark.skipif(bool(faiss.get_num_gpus()), reason="FAISS has a GPU")
def test_without_a_gpu_it_is_neither_built_nor_opened(
    store: VectorStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stand_in(patch)
        index = IvfGpuIndex.build(store, ALL)
        index.save(tmp_path)
    sentence = "needs a CUDA device and faiss-gpu, and FAISS finds no GPU here: install"
    with pytest.raises(UserError, match=sentence):
        IvfGpuIndex.build(store, ALL)
    with pytest.raises(UserError, match=sentence):
        IvfGpuIndex.load(tmp_path, store, index.parameters)


@pytest.mark.usefixtures("gpu")
def test_what_does_not_fit_on_the_gpu_is_refused_in_a_sentence(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("cudaMalloc: out of memory")

    monkeypatch.setattr(faiss, "index_cpu_to_gpu", full)
    with pytest.raises(UserError, match="cannot copy an index of 0 rows of 24 numbers to the GPU"):
        IvfGpuIndex.build(store, ALL)
