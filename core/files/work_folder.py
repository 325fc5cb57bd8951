"""Folders to work in, each of one process: gone with it, or cleared away by the next."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.errors import UserError


@contextmanager
def unfinished(out: Path, *, purpose: str) -> Iterator[Path]:
    """An empty folder beside `out` to write in, gone afterwards unless it was moved to its place.

    What a killed process left in it is cleared away by the next one. `purpose` is what both do, in
    the sentence that refuses a second one.
    """
    work = out.with_name(f".{out.name}.unfinished")
    work.mkdir(parents=True, exist_ok=True)
    lock = os.open(work, os.O_RDONLY)
    try:
        # The other export may just have published or removed it.
        if not (_try(lock) and _is_at(lock, work)):
            raise UserError(f"Another {purpose} {out} is running: wait until it has ended.")
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
