"""The code of the GPU, on torch's CPU."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UserError
from retrieval.index.exact import gpu
from retrieval.index.exact.gpu import GpuIndex, require_room
from retrieval.vectors.store import VectorStore
from tests.retrieval.index.stores import make_store, no_mask, repeated, true_scores, unit_vectors
from tests.support.examples import examples


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[VectorStore]:
    vectors = repeated(601, 24, 3, copies=3)
    return [
        make_store(tmp_path_factory.mktemp(dtype), vectors, cuts=[100, 350], dtype=dtype)
        for dtype in ("float32", "float16")
    ]


def on_cpu(store: VectorStore) -> GpuIndex:
    return GpuIndex.build(store, {"device": "cpu"})


@settings(max_examples=examples(25), deadline=None)
@given(
    half=st.booleans(),
    group=st.sampled_from([1, 2, 16, 64]),
    tile=st.integers(100, 4000),
    at_once=st.integers(1, 9),
    width=st.sampled_from([1, 7, 50, 601]),
    queries=st.integers(1, 8),
    share=st.sampled_from([0.0, 0.3, 0.95]),
    seed=st.integers(0, 1000),
)
def test_no_row_left_out_is_nearer_than_the_margin_allows(
    stores: list[VectorStore],
    half: bool,
    group: int,
    tile: int,
    at_once: int,
    width: int,
    queries: int,
    share: float,
    seed: int,
) -> None:
    store = stores[half]
    excluded = np.random.default_rng(seed).random(601) < share
    asked = unit_vectors(queries, 24, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu, "GROUP", group)
        patch.setattr(gpu, "SCORES_PER_TILE", tile)
        patch.setattr(gpu, "QUERIES_PER_TILE", at_once)
        found = on_cpu(store).search(asked, width, excluded)
    there = found.positions >= 0
    true = true_scores(store, asked, np.maximum(found.positions, 0))
    assert (there.sum(axis=1) == min(width, (~excluded).sum())).all()
    assert not excluded[found.positions[there]].any()
    assert np.abs(true - found.scores)[there].max(initial=0) <= found.margin
    every = true_scores(store, asked, np.tile(np.arange(601), (queries, 1)))
    every[:, excluded] = -np.inf
    for row in range(queries):
        positions = found.positions[row][there[row]]
        left_out = np.delete(every[row], positions)
        assert len(set(positions)) == len(positions)
        last = found.scores[row].min() + found.margin  # -inf where all allowed are found
        assert left_out.max(initial=-np.inf) <= last


def test_the_margin_is_small_beside_what_scores_differ_by(stores: list[VectorStore]) -> None:
    """Of rows stored in float16 the device loses nothing."""
    single, half = (
        on_cpu(store).search(unit_vectors(5, 24, 1), 3, no_mask(store)).margin for store in stores
    )
    assert 0.0004 < half < single < 0.0013


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_cuda_device_the_kind_is_refused(stores: list[VectorStore]) -> None:
    with pytest.raises(UserError, match="There is no CUDA device here: choose another kind"):
        GpuIndex.build(stores[0], {})


def test_vectors_that_do_not_fit_on_the_device_are_refused_with_what_they_need() -> None:
    require_room(6_300_000, 768, free=80 * 10**9, device="cuda")
    with pytest.raises(
        UserError,
        match=r"60,000,000 vectors of 768 numbers need 88\.9 GiB on cuda, where 74\.5 are",
    ):
        require_room(60_000_000, 768, free=80 * 10**9, device="cuda")


def test_sums_in_half_precision_are_allowed_again_after_a_search(
    stores: list[VectorStore],
) -> None:
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_fp16_reduced_precision_reduction
    on_cpu(stores[0]).search(unit_vectors(1, 24, 1), 3, no_mask(stores[0]))
    assert matmul.allow_fp16_reduced_precision_reduction == before


def test_a_mask_that_cannot_change_is_kept_until_rows_are_removed(
    stores: list[VectorStore],
) -> None:
    index, store = on_cpu(stores[0]), stores[0]
    asked = unit_vectors(1, 24, 5)
    first, second = no_mask(store), no_mask(store)
    second[index.search(asked, 1, first).positions[0]] = True
    for mask in (first, second):
        mask.flags.writeable = False
    [[best]] = index.search(asked, 1, first).positions
    [[next_best]] = index.search(asked, 1, second).positions
    assert next_best != best
    assert index.search(asked, 1, first).positions == best
    index.remove(np.array([best]))
    assert index.search(asked, 1, first).positions != best


def test_a_mask_that_may_change_is_read_each_time(stores: list[VectorStore]) -> None:
    index, mask = on_cpu(stores[0]), no_mask(stores[0])
    asked = unit_vectors(1, 24, 5)
    [[best]] = index.search(asked, 1, mask).positions
    mask[best] = True
    assert index.search(asked, 1, mask).positions != best
