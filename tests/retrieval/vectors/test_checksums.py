"""Files that nobody has touched are not read again; any other is."""

import json
import os
import time
from pathlib import Path

import pytest

from core.errors import UserError
from retrieval.vectors import checksums
from retrieval.vectors.checksums import MEMORY, facts_of, verify_files

CONTENT = {"a.npy": b"rain" * 99, "b.npy": b"snow" * 99}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as settled; the test of the settling takes that back."""
    monkeypatch.setattr(checksums, "SETTLED_NS", -(10**12))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose checksums are computed."""
    names: list[str] = []
    compute = checksums.sha256_of

    def noting(path: Path) -> str:
        names.append(path.name)
        return compute(path)

    monkeypatch.setattr(checksums, "sha256_of", noting)
    return names


@pytest.fixture
def files(tmp_path: Path) -> dict[str, checksums.Facts]:
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
    return {name: facts_of(tmp_path / name) for name in CONTENT}


def test_a_file_is_read_once(
    tmp_path: Path, files: dict[str, checksums.Facts], read: list[str]
) -> None:
    verify_files(tmp_path, files, "do this")
    assert sorted(read) == ["a.npy", "b.npy"]
    verify_files(tmp_path, files, "do this")
    assert sorted(read) == ["a.npy", "b.npy"]
    verify_files(tmp_path, files, "do this", again=True)
    assert sorted(read) == ["a.npy", "a.npy", "b.npy", "b.npy"]


def flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def flip_behind_the_clock(path: Path) -> None:
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    flip_behind_the_clock(other)
    other.replace(path)


@pytest.mark.parametrize("change", [flip, flip_behind_the_clock, replace])
def test_a_file_that_was_changed_is_read_again(
    tmp_path: Path, files: dict[str, checksums.Facts], change: object
) -> None:
    verify_files(tmp_path, files, "do this")
    time.sleep(0.02)  # the clock of the file system ticks
    change(tmp_path / "b.npy")  # type: ignore[operator]
    with pytest.raises(UserError, match=r"b\.npy is not the one recorded .* differs: do this\."):
        verify_files(tmp_path, files, "do this")


def test_a_file_that_is_gone_or_cut_short_is_told_without_reading(
    tmp_path: Path, files: dict[str, checksums.Facts], read: list[str]
) -> None:
    (tmp_path / "b.npy").write_bytes(b"sno")
    with pytest.raises(UserError, match=r"b\.npy has 3 bytes instead of 396: do this\."):
        verify_files(tmp_path, files, "do this")
    (tmp_path / "b.npy").unlink()
    with pytest.raises(UserError, match=r"b\.npy is missing: do this\."):
        verify_files(tmp_path, files, "do this")
    assert read == []


def test_another_checksum_is_another_file(
    tmp_path: Path, files: dict[str, checksums.Facts]
) -> None:
    verify_files(tmp_path, files, "do this")
    wanted = files | {"a.npy": {**files["a.npy"], "sha256": "0" * 64}}
    with pytest.raises(UserError, match=r"a\.npy is not the one recorded"):
        verify_files(tmp_path, wanted, "do this")


def test_what_was_changed_just_now_is_not_remembered(
    tmp_path: Path,
    files: dict[str, checksums.Facts],
    read: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Within one tick of the clock two changes look like one. Here it ticks every 1,000 seconds."""
    monkeypatch.setattr(checksums, "SETTLED_NS", 10**12)
    verify_files(tmp_path, files, "do this")
    assert not (tmp_path / MEMORY).exists()
    verify_files(tmp_path, files, "do this")
    assert len(read) == 4


@pytest.mark.parametrize("memory", [b"", b"{", b"[]", b'{"a.npy": 1}', b'{"a.npy": [1, 2]}'])
def test_a_malformed_memory_is_none(
    tmp_path: Path, files: dict[str, checksums.Facts], read: list[str], memory: bytes
) -> None:
    (tmp_path / MEMORY).write_bytes(memory)
    verify_files(tmp_path, files, "do this")
    assert len(read) == 2
    verify_files(tmp_path, files, "do this")
    assert len(read) == 2


def test_files_that_are_gone_are_forgotten(
    tmp_path: Path, files: dict[str, checksums.Facts]
) -> None:
    verify_files(tmp_path, files, "do this")
    (tmp_path / "a.npy").unlink()
    (tmp_path / "c.npy").write_bytes(b"hail")
    verify_files(tmp_path, {"c.npy": facts_of(tmp_path / "c.npy")}, "do this")
    assert sorted(json.loads((tmp_path / MEMORY).read_bytes())) == ["b.npy", "c.npy"]
