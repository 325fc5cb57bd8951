"""Files that are whole or not there."""

import os
from collections.abc import Iterable
from pathlib import Path

from core.files.work_folder import sync


def write_whole(path: Path, content: Iterable[bytes]) -> None:
    """In place of what is there, which stays until all is on the disk."""
    work = path.with_name(f".{path.name}")
    try:
        with work.open("wb") as file:
            file.writelines(content)
        sync(work)
        os.replace(work, path)
    finally:
        work.unlink(missing_ok=True)
