"""Folders that are complete as soon as they are there, or never there; and those of one process."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from core.errors import UserError
from exports.layout.files import FORMAT, FORMAT_VERSIONS, MANIFEST
from exports.layout.manifest import checksums


def check_target(out: Path, campaign: str, *, last: int | None = None) -> None:
    """Nothing may lie there, or the campaign's release `last`, its newest."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out} is a file: name a folder by --out.")
    there = _read_manifest(out)
    if there and there.get("format_version") not in FORMAT_VERSIONS:
        raise UserError(
            f"{out} holds a release of an older version of Quorum: choose another folder by --out."
        )
    if any(out.iterdir()) and there.get("campaign") != campaign:
        raise UserError(
            f"{out} is not empty and holds no release of campaign {campaign}: choose another "
            "folder by --out."
        )
    if there and last is not None and there["number"] != last:
        raise UserError(
            f"{out} holds release {there['number']} of campaign {campaign}, whose newest is "
            f"release {last}, and a release never changes: choose another folder by --out."
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Empty where there is none of a release."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else {}


@contextmanager
def unfinished(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` to write the release in, gone afterwards unless `publish`ed.

    What a killed export left in it is cleared away by the next one.
    """
    work = out.with_name(f".{out.name}.unfinished")
    work.mkdir(parents=True, exist_ok=True)
    lock = os.open(work, os.O_RDONLY)
    try:
        # The other export may just have published or removed it.
        if not (_try(lock) and _is_at(lock, work)):
            raise UserError(f"Another export to {out} is running: wait until it has ended.")
        try:
            _clear(work)
            yield work
        finally:
            if _is_at(lock, work):
                shutil.rmtree(work)
    finally:
        os.close(lock)


@contextmanager
def working_folder(folder: Path) -> Iterator[Path]:
    """A folder that tells for as long as it is there whether the process that made it lives."""
    lock = _own(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(lock)


def _own(folder: Path) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_at(lock, folder):
                return lock
            os.close(lock)  # somebody took it for abandoned before it was locked


def abandoned(folder: Path) -> Iterator[Path]:
    """The working folders in it whose processes have died; each is cleared away after its turn."""
    for path in sorted(folder.glob("*/")):
        try:
            lock = os.open(path, os.O_RDONLY)
        except (FileNotFoundError, PermissionError):
            continue  # its process has just ended, or is for its own user to clear away
        try:
            if _try(lock) and _is_at(lock, path):
                yield path
                with suppress(PermissionError):  # as above
                    shutil.rmtree(path)
        finally:
            os.close(lock)


def _try(lock: int) -> bool:
    """Make the folder this process's own, for as long as `lock` is open; False: it is another's."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def publish(work: Path, out: Path, campaign: str) -> bool:
    """Make the written folder the release in one step; False where the same one lies there.

    A release never changes: UserError where `out` holds another one.
    """
    check_target(out, campaign)
    if out.exists() and any(out.iterdir()):
        _require_same(work, out, campaign)
        return False
    for path in work.rglob("*"):
        if path.is_file():
            sync(path)
    sync_folders(work)
    work.rename(out)
    sync(out.parent)
    return True


def _require_same(work: Path, out: Path, campaign: str) -> None:
    wanted, number = _read_manifest(work)["number"], _read_manifest(out).get("number")
    if wanted != number:
        raise UserError(
            f"{out} holds release {number} of campaign {campaign}, this is release {wanted}, and a "
            "release never changes: the same command writes it to another folder (--out)."
        )
    mine, theirs = checksums(work), checksums(out)
    names = mine.keys() | theirs.keys()
    if differing := sorted(name for name in names if mine.get(name) != theirs.get(name)):
        raise UserError(
            f"{out} is not release {number} of campaign {campaign} as it was made (differing in "
            f"{', '.join(differing)}): choose another folder by --out."
        )


def sync(path: Path) -> None:
    """Bring a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folders(folder: Path) -> None:
    """The entries of it, of all folders in it, and its own."""
    for path in (folder.parent, folder, *folder.rglob("*")):
        if path.is_dir():
            sync(path)
