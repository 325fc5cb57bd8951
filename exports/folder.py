"""Where a release is written: a folder that is complete as soon as it is there, or never there."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exports.manifest import FORMAT
from exports.splits import SPLITS
from retrieval.errors import UserError

STATS = "stats.json"
MANIFEST = "manifest.json"
DATA_FILES = tuple(f"{split}.jsonl" for split in SPLITS)


def check_target(out: Path, campaign: str) -> None:
    """Only an earlier release of the same campaign may lie there, or nothing."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out} is a file: name a folder by --out.")
    if any(out.iterdir()) and _read_manifest(out).get("campaign") != campaign:
        raise UserError(
            f"{out} is not empty and holds no release of campaign {campaign}: choose another "
            "folder by --out."
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Empty where there is none of a release."""
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("format") == FORMAT else {}


@contextmanager
def unfinished(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` to write the release in, gone afterwards unless `publish`ed.

    What a killed export left in it is cleared away by the next one.
    """
    work = out.with_name(f".{out.name}.unfinished")
    work.mkdir(parents=True, exist_ok=True)
    lock = os.open(work, os.O_RDONLY)
    try:
        _take(lock, work, out)
        try:
            _clear(work)
            yield work
        finally:
            if _is_at(lock, work):
                _clear(work)
                work.rmdir()
    finally:
        os.close(lock)


def _take(lock: int, work: Path, out: Path) -> None:
    """Make the folder this process's own, for as long as `lock` is open."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        taken = _is_at(lock, work)  # the other export may just have published or removed it
    except BlockingIOError:
        taken = False
    if not taken:
        raise UserError(f"Another export to {out} is running: wait until it has ended.")


def _is_at(descriptor: int, path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())


def _clear(work: Path) -> None:
    for path in work.iterdir():
        path.unlink()


def seal(path: Path) -> dict[str, object]:
    """Bring a written file to the disk; its size and checksum."""
    _sync(path)
    return _checksum(path)


def _checksum(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": digest}


def publish(work: Path, out: Path, campaign: str) -> bool:
    """Make the written folder the release in one step; False where the same one lies there.

    A release never changes: UserError where `out` holds another one.
    """
    check_target(out, campaign)
    if out.exists() and any(out.iterdir()):
        if changed := _changed(work, out):
            raise UserError(
                f"{out} holds another release of campaign {campaign} (differing in "
                f"{', '.join(changed)}), and a release never changes: choose another folder by "
                "--out."
            )
        return False
    _sync(work)
    work.rename(out)
    _sync(out.parent)
    return True


def _changed(work: Path, out: Path) -> list[str]:
    """The names of the files that differ; what software wrote the manifest is no difference."""
    changed = [
        name
        for name in (*DATA_FILES, STATS)
        if not (out / name).is_file() or _checksum(work / name) != _checksum(out / name)
    ]
    same = {"versions": None}
    if _read_manifest(work) | same != _read_manifest(out) | same:
        changed.append(MANIFEST)
    return changed


def _sync(path: Path) -> None:
    """Bring a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
