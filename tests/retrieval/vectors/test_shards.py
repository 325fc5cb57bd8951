"""What is written whole or not at all, and what is no shard of a store."""

import errno
import itertools
import json
import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from retrieval.vectors import shards
from retrieval.vectors.shards import (
    Identity,
    complete_shards,
    files_of,
    read_keys,
    read_vectors,
    sound_shards,
    write_shard,
)
from retrieval.vectors.store import VectorStore
from retrieval.vectors.unfinished_files import UNFINISHED, sync, sync_folder, unfinished
from tests.retrieval.vectors.shard_files import IDENTITY, keys_of, shard_of_pairs, vectors_of


def test_a_shard_is_sorted_and_named_after_its_content(tmp_path: Path) -> None:
    shard = shard_of_pairs(tmp_path, range(20))
    again = shard_of_pairs(tmp_path / "again", reversed(range(20)))
    assert again == shard
    assert shard_of_pairs(tmp_path, range(19)).name != shard.name
    assert read_keys(tmp_path, shard).tolist() == sorted(keys_of(range(20)).tolist())
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == sorted(
        [*files_of(shard.name), f"{shard.name}.json"]
    )
    assert shard.bytes == sum((tmp_path / name).stat().st_size for name in files_of(shard.name))


@pytest.mark.parametrize(
    "vectors",
    [np.zeros((3, 4)), np.zeros((2, 5)), np.full((3, 5), np.nan), np.zeros(3), np.zeros((0, 5))],
)
def test_what_is_no_vector_for_each_key_is_refused(tmp_path: Path, vectors: Any) -> None:
    with pytest.raises(UserError, match=r"^The model gave vectors of shape .* use another model"):
        write_shard(tmp_path, IDENTITY, keys_of(range(3)), vectors.astype(np.float32))
    assert list(tmp_path.iterdir()) == []


def test_numbers_too_large_for_half_the_bits_are_refused(tmp_path: Path) -> None:
    half = replace(IDENTITY, dtype="float16")
    with pytest.raises(UserError, match="not of numbers"):
        write_shard(tmp_path, half, keys_of([1]), np.full((1, 5), 70_000, np.float32))


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_full_disk_leaves_no_half_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """At the keys, the vectors and the record."""
    before = shard_of_pairs(tmp_path, range(3))
    calls = 0

    def full(file: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shards, "sync", full)
    with pytest.raises(UserError) as caught:
        shard_of_pairs(tmp_path, range(9))
    assert str(caught.value) == (
        f"The vectors cannot be written in {tmp_path} (No space left on device): make room there "
        "and run the command again; the shards that are whole stay."
    )
    assert sound_shards(tmp_path, IDENTITY) == [before]
    assert not list(tmp_path.glob(f"*{UNFINISHED}"))


def write_in_a_process(folder: Path, killed_at: int, steps: Path) -> int:
    """The status of a child that is killed at that step; the last one is written to `steps`."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.MonkeyPatch.context() as patch:
                kill_at(killed_at, steps, patch)
                shard_of_pairs(folder, range(9))
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(step: int, steps: Path, patch: pytest.MonkeyPatch) -> None:
    count = itertools.count(1)

    def killing(act: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            number = next(count)
            steps.write_text(str(number))
            if number == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return act(*arguments)

        return counted

    patch.setattr(shards, "sync", killing(sync))
    patch.setattr(shards, "sync_folder", killing(sync_folder))
    patch.setattr(Path, "replace", killing(Path.replace))


def test_whoever_is_killed_at_any_step_leaves_a_whole_shard_or_none(tmp_path: Path) -> None:
    count = tmp_path / "steps"
    assert write_in_a_process(tmp_path / "undisturbed", 0, count) == 0
    steps = int(count.read_text())
    assert steps == 8
    [whole] = sound_shards(tmp_path / "undisturbed", IDENTITY)
    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        assert write_in_a_process(folder, step, count) == -signal.SIGKILL
        # Only the last step comes after the record.
        assert sound_shards(folder, IDENTITY) == ([whole] if step == steps else [])
        assert not list(folder.glob(f"*{UNFINISHED}"))
        shard_of_pairs(folder, range(9))
        assert sound_shards(folder, IDENTITY) == [whole]


def test_what_another_process_is_writing_is_not_cleared(tmp_path: Path) -> None:
    with unfinished(tmp_path) as (path, _):
        assert sound_shards(tmp_path, IDENTITY) == []
        assert path.exists()
    assert not path.exists()


def change_record(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"name": 1}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"files": {}, "name": "x", "pairs": 3}',
        b'{"files": "x", "name": "x", "pairs": {}}',
    ],
)
def test_a_malformed_record_is_no_shard_and_is_cleared(tmp_path: Path, content: bytes) -> None:
    kept, broken = shard_of_pairs(tmp_path, range(3)), shard_of_pairs(tmp_path, range(3, 9))
    record = tmp_path / f"{broken.name}.json"
    record.write_bytes(content)
    assert complete_shards(tmp_path, IDENTITY) == ([kept], [record])
    assert sound_shards(tmp_path, IDENTITY) == [kept]
    assert not record.exists()
    assert shard_of_pairs(tmp_path, range(3, 9)) == broken


@pytest.mark.parametrize("values", [{"pairs": 2}, {"pairs": "3"}, {"name": "a"}, {"more": 1}])
def test_a_record_that_was_changed_is_no_shard(tmp_path: Path, values: dict[str, object]) -> None:
    shard = shard_of_pairs(tmp_path, range(3))
    change_record(tmp_path / f"{shard.name}.json", **values)
    assert sound_shards(tmp_path, IDENTITY) == []


@pytest.mark.parametrize(
    "values",
    [{"model_fingerprint": "0" * 64}, {"dtype": "float16"}, {"dimension": 6}, {"form": "QQA"}],
)
def test_another_stores_shard_is_none_here(tmp_path: Path, values: dict[str, Any]) -> None:
    """Even one of the same shape: it may come of another model."""
    shard_of_pairs(tmp_path, range(3))
    assert sound_shards(tmp_path, replace(IDENTITY, **values)) == []


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("damage", ["gone", "short", "flipped"])
def test_a_shard_with_a_damaged_file_is_encoded_again(
    tmp_path: Path, number: int, damage: str
) -> None:
    sound, other = shard_of_pairs(tmp_path, range(3)), shard_of_pairs(tmp_path, range(3, 9))
    path = tmp_path / files_of(other.name)[number]
    content = path.read_bytes()
    changed = {"short": content[:-1], "flipped": content[:-1] + bytes([content[-1] ^ 1])}
    path.unlink() if damage == "gone" else path.write_bytes(changed[damage])
    assert sound_shards(tmp_path, IDENTITY) == [sound]
    shard_of_pairs(tmp_path, range(3, 9))
    assert len(sound_shards(tmp_path, IDENTITY)) == 2


def foreign(path: Path, array: Any) -> None:
    with path.open("wb") as file:
        np.save(file, array)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (vectors_of(range(3)).astype(np.float16), "holds float16 of shape (3, 5) instead of float"),
        (vectors_of(range(3))[:, :4], "holds float32 of shape (3, 4) instead of float32 of shape"),
        (vectors_of(range(2)), "holds float32 of shape (2, 5) instead of float32 of shape (3, 5)"),
    ],
)
def test_files_of_another_shape_are_refused_by_name_where_they_are_opened(
    tmp_path: Path, array: Any, expected: str
) -> None:
    shard = shard_of_pairs(tmp_path, range(3))
    path = tmp_path / files_of(shard.name)[1]
    foreign(path, array)
    with pytest.raises(UserError, match=re.escape(f"The index file {path} {expected}")):
        VectorStore(tmp_path, IDENTITY, [shard])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x93NUMPY\x01\0", b"x" * 999])
@pytest.mark.parametrize("number", [0, 1])
def test_what_is_no_array_is_refused_by_name(tmp_path: Path, content: bytes, number: int) -> None:
    shard = shard_of_pairs(tmp_path, range(3))
    path = tmp_path / files_of(shard.name)[number]
    path.write_bytes(content)
    with pytest.raises(UserError, match=re.escape(f"The index file {path} cannot be read (")):
        VectorStore(tmp_path, IDENTITY, [shard])


def test_an_array_cut_short_is_refused_by_name(tmp_path: Path) -> None:
    shard = shard_of_pairs(tmp_path, range(3))
    path = tmp_path / files_of(shard.name)[1]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(UserError, match=re.escape(f"The index file {path} cannot be read (")):
        read_vectors(tmp_path, IDENTITY, shard)


def test_an_identity_is_told_by_its_digest() -> None:
    values = [Identity("m", "f", "mean", "QQ", 5, "fp32", "float32"), IDENTITY]
    assert len({identity.digest for identity in values}) == 2
