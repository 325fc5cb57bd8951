"""A folder for one dry run: gone with it; those of dry runs that were killed are cleared."""

import fcntl
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from django.conf import settings

# Tells a dry run's folder from anybody else's data, and is locked while it is in use.
MARKER = "dry-run.lock"


@contextmanager
def scratch() -> Iterator[tuple[Path, IO[bytes]]]:
    """The folder and its lock, which a child that inherits it holds as well."""
    root: Path = settings.DATA_DIR / "dry-runs"
    root.mkdir(exist_ok=True)
    _clear_abandoned(root)
    folder = root / uuid.uuid4().hex
    folder.mkdir(mode=0o700)
    with (folder / MARKER).open("xb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder, lock
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _clear_abandoned(root: Path) -> None:
    for marker in root.glob(f"*/{MARKER}"):
        with suppress(FileNotFoundError, BlockingIOError), marker.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(marker.parent, ignore_errors=True)
