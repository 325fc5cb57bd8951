"""Files for the eyes of one account."""

import stat
from contextlib import suppress
from pathlib import Path

OTHERS = 0o077


def make_private(folder: Path) -> None:
    """Close what others could reach in it, then itself: one that is cut off begins again."""
    for entry in folder.iterdir():
        _close(entry)
    _close(folder)


def _close(path: Path) -> None:
    """In a folder that is closed nothing can be reached. Links lead elsewhere, to others' files."""
    # Another process has just removed it, or it is another account's.
    with suppress(FileNotFoundError, PermissionError):
        mode = path.lstat().st_mode
        if not mode & OTHERS or not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            return
        if stat.S_ISDIR(mode):
            for entry in path.iterdir():
                _close(entry)
        path.chmod(stat.S_IMODE(mode) & ~OTHERS)
