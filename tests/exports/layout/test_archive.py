"""The archive: unpacked by tar and by Python, the same bytes each time."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tarfile
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from exports.formats.write import write_formats
from exports.layout.archive import write_archive
from tests.exports.support.extracts import random_extract, spread
from tests.support.unpacking import unpack

NAME = "demo-1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = spread(random_extract(3), tmp_path / "release")
    write_formats(folder)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def members(archive: Path) -> list[tarfile.TarInfo]:
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as plain,
        tarfile.open(fileobj=plain, mode="r|") as opened,
    ):
        return list(opened)


def test_python_unpacks_what_was_packed(folder: Path, tmp_path: Path) -> None:
    write_archive(folder, tmp_path / "demo.tar.zst", name=NAME)
    packed = (tmp_path / "demo.tar.zst").read_bytes()
    (tmp_path / "demo.tar").write_bytes(
        zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    )
    with tarfile.open(tmp_path / "demo.tar") as opened:
        unpack(opened, tmp_path / "out")
    assert content(tmp_path / "out") == {
        f"{NAME}/{path}": of for path, of in content(folder).items()
    }
    assert len(content(folder)) > 30


@pytest.mark.skipif(
    shutil.which("zstd") is None, reason="tar calls the program zstd, which is not here"
)
def test_tar_unpacks_what_was_packed(folder: Path, tmp_path: Path) -> None:
    write_archive(folder, tmp_path / "demo.tar.zst", name=NAME)
    subprocess.run(["tar", "--zstd", "-xf", "demo.tar.zst"], cwd=tmp_path, check=True)
    assert content(tmp_path / NAME) == content(folder)


def test_the_same_files_make_the_same_bytes_whoever_wrote_them_when(
    folder: Path, tmp_path: Path
) -> None:
    copied = tmp_path / "copy"
    for path in sorted(content(folder), reverse=True):
        (copied / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / path, copied / path)
        (copied / path).chmod(0o600)
        os.utime(copied / path, (1, 1))
    write_archive(folder, tmp_path / "one.tar.zst", name=NAME)
    write_archive(copied, tmp_path / "other.tar.zst", name=NAME)
    assert (tmp_path / "one.tar.zst").read_bytes() == (tmp_path / "other.tar.zst").read_bytes()


def test_members_are_sorted_and_say_nothing_of_the_machine(folder: Path, tmp_path: Path) -> None:
    write_archive(folder, tmp_path / "demo.tar.zst", name=NAME)
    found = members(tmp_path / "demo.tar.zst")
    assert [one.name for one in found] == [f"{NAME}/{path}" for path in sorted(content(folder))]
    assert {(one.mtime, one.uid, one.gid, one.uname, one.gname, one.mode) for one in found} == {
        (0, 0, 0, "", "", 0o644)
    }


def test_a_long_name_and_any_letter_are_kept(tmp_path: Path) -> None:
    long = "instructions/" + "ü" * 90 + ".md"
    (tmp_path / "release" / "instructions").mkdir(parents=True)
    (tmp_path / "release" / long).write_text("# Same?\n")
    write_archive(tmp_path / "release", tmp_path / "demo.tar.zst", name=NAME)
    assert [one.name for one in members(tmp_path / "demo.tar.zst")] == [f"{NAME}/{long}"]


def test_one_flipped_byte_does_not_unpack(folder: Path, tmp_path: Path) -> None:
    archive = tmp_path / "demo.tar.zst"
    write_archive(folder, archive, name=NAME)
    packed = bytearray(archive.read_bytes())
    packed[len(packed) // 2] ^= 1
    with pytest.raises(zstandard.ZstdError):
        zstandard.ZstdDecompressor().decompressobj().decompress(packed)


def test_memory_does_not_grow_with_the_files(tmp_path: Path) -> None:
    peaks = []
    for megabytes in (1, 16):
        folder = tmp_path / f"release-{megabytes}"
        folder.mkdir()
        (folder / "train.jsonl").write_bytes(random.Random(1).randbytes(megabytes << 20))
        tracemalloc.start()
        write_archive(folder, tmp_path / "demo.tar.zst", name=NAME)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] < 1 << 20
