import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.vectors import compact
from retrieval.vectors.compact import compacted
from retrieval.vectors.shards import Shard, sound_shards
from retrieval.vectors.store import VectorStore
from tests.retrieval.vectors.shard_files import IDENTITY, keys_of, shard_of_pairs, vectors_of
from tests.support.examples import examples


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact, "ROWS", 8)


def shards_of_sizes(folder: Path, sizes: list[int]) -> list[Shard]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [shard_of_pairs(folder, range(start, end)) for start, end in itertools.pairwise(ends)]


def pack(folder: Path, shards: list[Shard], dead: set[int]) -> list[Shard]:
    """`dead`: numbers of pairs."""
    store = VectorStore(folder, IDENTITY, shards)
    live = np.ones(len(store), np.bool_)
    live[store.positions_of(keys_of(sorted(dead)))] = False
    return compacted(folder, IDENTITY, shards, live)


@settings(max_examples=examples(25), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=6),
    dead=st.sets(st.integers(0, 60)),
)
def test_packing_loses_no_living_row_and_ends(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], dead: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compact, "ROWS", 8)
        shards = shards_of_sizes(folder, sizes)
        dead = {number for number in dead if number < sum(sizes)}
        packed = pack(folder, shards, dead)
        living = sorted(set(range(sum(sizes))) - dead)
        store = VectorStore(folder, IDENTITY, packed)
        positions = store.positions_of(keys_of(living))
        assert (positions >= 0).all()
        np.testing.assert_array_equal(store.rows(positions), vectors_of(living))
        assert {shard.name for shard in packed} <= {s.name for s in sound_shards(folder, IDENTITY)}
        # At most one shard is left that is neither half full nor half alive.
        here = store.positions_of(keys_of(sorted(dead)))
        live = np.ones(len(store), np.bool_)
        live[here[here >= 0]] = False
        assert compacted(folder, IDENTITY, packed, live) == packed
        assert sum(1 for shard in packed if shard.pairs < 4) <= 1


def test_full_shards_stay_as_they_are(tmp_path: Path) -> None:
    shards = shards_of_sizes(tmp_path, [8, 8, 3])
    assert pack(tmp_path, shards, set()) == shards
    assert pack(tmp_path, shards, {0, 1, 9}) == shards


def test_a_shard_without_a_living_row_is_left_out(tmp_path: Path) -> None:
    shards = shards_of_sizes(tmp_path, [8, 8])
    assert pack(tmp_path, shards, set(range(8))) == shards[1:]


def test_many_small_shards_become_full_ones_and_a_rest(tmp_path: Path) -> None:
    """As of a database to which three pairs come each day."""
    shards = shards_of_sizes(tmp_path, [8, *[3] * 7])
    packed = pack(tmp_path, shards, set())
    assert packed[0] == shards[0]
    assert [shard.pairs for shard in packed] == [8, 8, 8, 5]


def test_rows_are_copied_bit_by_bit(tmp_path: Path) -> None:
    half = replace(IDENTITY, dtype="float16")
    shards = [shard_of_pairs(tmp_path, range(start, start + 3), half) for start in (0, 3)]
    [packed] = compacted(tmp_path, half, shards, np.ones(6, np.bool_))
    assert packed == shard_of_pairs(tmp_path / "at once", range(6), half)
