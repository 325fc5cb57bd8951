"""A backup as one file: a tar in zstd whose last member, the manifest, names all others.

It comes last because only then is it known what was read. Nothing of a file that somebody hands
over is believed before all of it has been checked against the manifest.
"""

import hashlib
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypedDict, cast

import zstandard

from core.errors import UserError
from core.progress import Progress

FORMAT, VERSION = "quorum-backup", 1
MANIFEST = "manifest.json"
MOST_MANIFEST = 256 << 20
LEVEL = 3  # of zstd
STEP = 1 << 20
# Read at once: more is a header that would fill the memory.
MOST_AT_ONCE = 16 * STEP
LATEST = 1 << 40  # seconds since 1970
NOTHING = "Nothing was restored."


class Member(TypedDict):
    bytes: int
    sha256: str


Manifest = Mapping[str, Any]


class Packer:
    """Takes what a backup holds, piece by piece; the manifest follows from it."""

    def __init__(self, tar: tarfile.TarFile, progress: Progress) -> None:
        self.members: dict[str, Member] = {}
        self._tar = tar
        self._progress = progress

    def add(self, name: str, file: IO[bytes]) -> None:
        """What the file holds now; what is written to its end meanwhile is left out."""
        about = os.fstat(file.fileno())
        entry = tarfile.TarInfo(name)  # with nothing of the machine's users
        entry.size, entry.mtime, entry.mode = about.st_size, about.st_mtime, about.st_mode & 0o777
        content = _Hashed(file, self._progress)
        self._tar.addfile(entry, cast(IO[bytes], content))
        self.members[name] = {"bytes": entry.size, "sha256": content.digest.hexdigest()}

    def close(self, folder: Path, facts: Manifest) -> None:
        """Add the manifest, written in `folder` before."""
        about = {"format": FORMAT, "format_version": VERSION, **facts, "files": self.members}
        (folder / MANIFEST).write_text(json.dumps(about, indent=1), encoding="utf-8")
        with (folder / MANIFEST).open("rb") as file:
            self.add(MANIFEST, file)


class _Hashed:
    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self.digest = hashlib.sha256()
        self._file = file
        self._progress = progress

    def read(self, size: int) -> bytes:
        step = self._file.read(size)
        self.digest.update(step)
        self._progress(len(step))
        return step


@contextmanager
def packing(file: IO[bytes], progress: Progress) -> Iterator[Packer]:
    compressor = zstandard.ZstdCompressor(LEVEL, write_checksum=True)
    with (
        compressor.stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT, bufsize=STEP) as tar,
    ):
        yield Packer(tar, progress)


@dataclass(frozen=True)
class Opened:
    """A member whose content can be read, once, before the next one is asked for."""

    name: str
    size: int
    mtime: float
    mode: int
    content: IO[bytes]

    def steps(self) -> Iterator[bytes]:
        while step := self.content.read(STEP):
            yield step


def members(path: Path, file: IO[bytes], progress: Progress) -> Iterator[Opened]:
    """All up to the manifest; UserError where one is none that a backup has."""
    file.seek(0)
    stream = cast(IO[bytes], _Stream(file, progress))
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        for entry in tar:
            _require_plain(path, entry)
            content = cast(IO[bytes], tar.extractfile(entry))
            yield Opened(entry.name, entry.size, entry.mtime, entry.mode, content)
            if entry.name == MANIFEST:
                return
    raise UserError(
        f"{path} is cut off: it lacks its end. {NOTHING} Take another copy of the backup."
    )


def checked(path: Path, file: IO[bytes], *, room: int, progress: Progress) -> Manifest:
    """The manifest, once every member is what it says; UserError otherwise.

    Nothing is written. No more than `room` bytes are unpacked.
    """
    actual: dict[str, Member] = {}
    for member in members(path, file, progress):
        room -= member.size
        if room < 0:
            raise UserError(
                f"{path} unpacks to more than the disk of the data folder has free: make room, or "
                f"check where the file comes from. {NOTHING}"
            )
        if member.name == MANIFEST:
            manifest = _manifest(path, member)
            _require_same(path, manifest["files"], actual)
            return manifest
        if member.name in actual:
            raise UserError(_no_backup(path, f"{member.name!r} is in it twice"))
        digest = hashlib.sha256()
        for step in member.steps():
            digest.update(step)
        actual[member.name] = {"bytes": member.size, "sha256": digest.hexdigest()}
    raise AssertionError("members ends with the manifest")


def _manifest(path: Path, member: Opened) -> Manifest:
    if member.size > MOST_MANIFEST:
        raise UserError(_no_backup(path, "its manifest is too large"))
    try:
        manifest = json.loads(b"".join(member.steps()))
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise UserError(_no_backup(path, "its manifest is of another program"))
    if manifest.get("format_version") != VERSION:
        raise UserError(
            f"{path} is a backup of format {manifest.get('format_version')}, and this version "
            f"reads format {VERSION}: restore it by the Quorum that wrote it. {NOTHING}"
        )
    if not (isinstance(manifest.get("files"), dict) and isinstance(manifest.get("database"), dict)):
        raise UserError(_no_backup(path, "its manifest is incomplete"))
    return manifest


def _require_same(path: Path, said: Mapping[str, Any], actual: Mapping[str, Member]) -> None:
    differing = sorted(n for n in said.keys() | actual.keys() if said.get(n) != actual.get(n))
    if differing:
        raise UserError(
            f"{path} is damaged: {differing[0]!r} is not what the manifest says. {NOTHING} "
            "Take another copy of the backup."
        )


def _require_plain(path: Path, entry: tarfile.TarInfo) -> None:
    """A file at a path that stays inside the folder where it is unpacked."""
    parts = PurePosixPath(entry.name).parts
    is_inside = entry.name == "/".join(parts) and parts and ".." not in parts
    if not entry.isreg() or not is_inside:
        raise UserError(_no_backup(path, f"{entry.name!r} is a link, a device, or leads out of it"))
    if not 0 <= entry.mtime < LATEST:  # infinite, or no number at all
        raise UserError(_no_backup(path, f"{entry.name!r} has no time"))


def _no_backup(path: Path, why: str) -> str:
    return f"{path} was not written by `quorum backup`: {why}. {NOTHING}"


@contextmanager
def words_for_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise UserError(
            f"{path} is no backup, or it is damaged ({error}): name a file that `quorum backup` "
            f"wrote. {NOTHING}"
        ) from error


class _Stream:
    """What `tarfile` reads of a packed file, which goes forward alone; `progress`: packed bytes."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self._file = file
        self._unpacked = zstandard.ZstdDecompressor().stream_reader(
            file, read_size=STEP, closefd=False
        )
        self._progress = progress
        self._at = self._reported = 0

    def tell(self) -> int:
        return self._at

    def seek(self, to: int) -> None:
        while self._at < to and self.read(min(STEP, to - self._at)):
            pass

    def read(self, size: int) -> bytes:
        if size > MOST_AT_ONCE:
            raise tarfile.ReadError("a header is too large")
        step = self._unpacked.read(size)
        self._at += len(step)
        self._progress(self._file.tell() - self._reported)
        self._reported = self._file.tell()
        return step
