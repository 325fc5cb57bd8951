import hashlib
import os
import resource
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.vectors import store as store_module
from retrieval.vectors.shards import Identity, write_shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import PairKeys
from tests.retrieval.vectors.shard_files import IDENTITY, keys_of, shard_of_pairs, vectors_of
from tests.support.examples import examples

# 32 bytes of which the first eight and the rest are each one of few: prefixes collide.
COLLIDING = st.builds(
    lambda first, rest, last: first * 8 + rest * 23 + last,
    st.sampled_from([b"\0", b"a", b"\xff"]),
    st.sampled_from([b"\0", b"a", b"\xff"]),
    st.sampled_from([b"\0", b"\1", b"\xff"]),
)


def key_array(keys: Iterable[bytes]) -> PairKeys:
    return np.frombuffer(b"".join(keys), "S32")


def one_dimension(folder: Path, shards: list[list[bytes]]) -> VectorStore:
    identity = Identity("m", "f", "mean", "QQ", 1, "fp32", "float32")
    made = []
    for number, keys in enumerate(shards):
        vectors = np.full((len(keys), 1), number, np.float32)
        made.append(write_shard(folder, identity, key_array(keys), vectors))
    return VectorStore(folder, identity, made)


@settings(max_examples=examples(40), deadline=None)
@given(
    shards=st.lists(st.lists(COLLIDING, min_size=1, unique=True), max_size=4),
    asked=st.lists(COLLIDING, max_size=30),
)
def test_a_pairs_position_is_its_first_even_where_keys_begin_alike(
    tmp_path_factory: pytest.TempPathFactory, shards: list[list[bytes]], asked: list[bytes]
) -> None:
    store = one_dimension(tmp_path_factory.mktemp("store"), shards)
    rows = [key for keys in shards for key in sorted(keys)]
    expected = [rows.index(key) if key in rows else -1 for key in asked]
    assert store.positions_of(key_array(asked)).tolist() == expected
    assert store.positions([key.hex() for key in asked]).tolist() == expected


def test_rows_come_in_the_order_asked_for_from_whatever_shard(tmp_path: Path) -> None:
    parts = [range(7), range(7, 8), range(8, 20)]
    store = VectorStore(tmp_path, IDENTITY, [shard_of_pairs(tmp_path, part) for part in parts])
    asked = [19, 0, 7, 7, 3, 12, 0]
    positions = store.positions_of(keys_of(asked))
    np.testing.assert_array_equal(store.rows(positions), vectors_of(asked))
    assert store.rows(positions[:0]).shape == (0, 5)
    assert len(store) == 20


def test_blocks_begin_where_they_are_asked_to(tmp_path: Path) -> None:
    store = VectorStore(
        tmp_path, IDENTITY, [shard_of_pairs(tmp_path, part) for part in (range(4), range(4, 9))]
    )
    every = store.rows(np.arange(9))
    for first in range(10):
        blocks = list(store.blocks(first))
        assert [start for start, _ in blocks] == [first, 4][: len(blocks)] or first >= 4
        rows = [row for _, block in blocks for row in np.asarray(block)]
        np.testing.assert_array_equal(np.array(rows).reshape(-1, 5), every[first:])


def test_a_store_without_a_shard_holds_nothing(tmp_path: Path) -> None:
    store = VectorStore(tmp_path, IDENTITY, [])
    assert len(store) == 0
    assert store.positions_of(keys_of([1, 2])).tolist() == [-1, -1]
    assert list(store.blocks()) == []


def test_opening_reads_no_vectors(tmp_path: Path) -> None:
    """They may be gone from the disk's cache: the pages are looked at when they are asked for."""
    shard = shard_of_pairs(tmp_path, range(5))
    store = VectorStore(tmp_path, IDENTITY, [shard])
    vectors = tmp_path / f"{shard.name}.vectors.npy"
    content = bytearray(vectors.read_bytes())
    content[-4:] = np.float32(0.5).tobytes()
    with vectors.open("r+b") as file:
        file.write(content)
    assert store.rows(np.array([4]))[0, -1] == 0.5


def test_more_shards_than_a_process_may_usually_open(tmp_path: Path) -> None:
    shards = [shard_of_pairs(tmp_path, [number]) for number in range(80)]
    child = os.fork()
    if child == 0:
        rows = 0
        try:
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            os.closerange(3, most)  # what the tests before have left open here
            resource.setrlimit(resource.RLIMIT_NOFILE, (70, most))
            rows = len(VectorStore(tmp_path, IDENTITY, shards))
        finally:
            os._exit(0 if rows == 80 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_shards_of_half_the_bits_give_the_same_rows_in_float32(tmp_path: Path) -> None:
    half = Identity("keywords", "f" * 64, "mean", "QQ", 5, "fp32", "float16")
    store = VectorStore(tmp_path, half, [shard_of_pairs(tmp_path, range(9), half)])
    rows = store.rows(store.positions_of(keys_of(range(9))))
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, vectors_of(range(9)))
    ((_, block),) = store.blocks()
    assert block.dtype == np.float16


def test_first_bytes_sort_as_the_keys_do() -> None:
    keys = key_array(hashlib.sha256(bytes([n])).digest() for n in range(200))
    first = store_module._first_bytes(keys)
    np.testing.assert_array_equal(np.argsort(first), np.argsort(keys))
