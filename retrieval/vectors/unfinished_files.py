"""Files that are being written: nobody takes one for whole, and those of the dead are cleared."""

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

UNFINISHED = ".unfinished"


@contextmanager
def unfinished(folder: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A file of this process's alone; gone afterwards, unless it was moved to its place."""
    path = folder / f"{uuid.uuid4().hex}{UNFINISHED}"
    with path.open("xb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)  # for as long as the process lives
            yield path, file
        finally:
            path.unlink(missing_ok=True)


def clear_unfinished(folder: Path) -> None:
    """Those whose processes have died."""
    for path in folder.glob(f"*{UNFINISHED}"):
        with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def sync(file: IO[bytes]) -> None:
    """What was written is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
