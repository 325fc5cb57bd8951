"""What a backup holds beside the database: files that cannot be made again, or at a great cost.

    secret_key              what signs links and sessions, where no variable names it
    mturk_emulator.sqlite3  the emulator's record
    turk/                   records of the site's Turk, a file for each account and environment
    index/ models/          vectors, and models that were trained here
    recipes/                the site's own
    rejects/ uploads/       rows that an import refused, and files that wait for theirs
    releases/ vectors/      what QUORUM_RELEASES and QUORUM_VECTORS name, unless it is S3

All else in the data folder is made again by itself.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from core.storage import VARIABLES, location_of

SECRET_KEY = "secret_key"  # noqa: S105 - the file's name
EMULATOR = "mturk_emulator.sqlite3"
TURK = "turk"
IN_DATA_FOLDER = (TURK, "experiments", "index", "models", "recipes", "rejects", "uploads")
# Locks, what was verified when, what somebody is writing, and what SQLite keeps beside a file.
FLEETING = re.compile(r"\.lock|\.verified\.json|.*\.unfinished|.*\.sqlite3-(wal|shm)")


def places() -> dict[str, Path]:
    """The folders here, by the names that they have in a backup."""
    data = Path(settings.DATA_DIR)
    named = {alias: location_of(alias) for alias in VARIABLES if alias in settings.STORAGES}
    here = {alias: Path(at) for alias, at in named.items() if not at.startswith("s3:")}
    return {name: data / name for name in IN_DATA_FOLDER} | here


def files_in(folder: Path) -> Iterator[str]:
    """Paths inside it, in order; links lead elsewhere and are left out."""
    for root, folders, names in os.walk(folder, onerror=_unless_gone):
        folders[:] = sorted(name for name in folders if not FLEETING.fullmatch(name))
        for name in sorted(names):
            if not FLEETING.fullmatch(name):
                yield (Path(root) / name).relative_to(folder).as_posix()


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def open_plain(path: Path) -> IO[bytes] | None:
    """None where it has gone, or is no file: what others are doing breaks no backup."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        if path.is_file() and not path.is_symlink():
            raise
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb")


def left_out() -> list[str]:
    """What the site needs and a backup does not hold, a sentence each."""
    return [*_on_s3(), *_key_outside(), *_vectors_outside()]


def _on_s3() -> Iterator[str]:
    for alias, variable in VARIABLES.items():
        if alias in settings.STORAGES and (at := location_of(alias)).startswith("s3:"):
            yield f"{variable} names {at}: its files are not included, keep them too."


def _key_outside() -> Iterator[str]:
    path = Path(settings.DATA_DIR) / SECRET_KEY
    if not path.is_file() or path.read_text() != settings.SECRET_KEY:
        yield "QUORUM_SECRET_KEY is not included: keep it too, links to HITs are signed with it."


def _vectors_outside() -> Iterator[str]:
    if not settings.VECTOR_DATABASE_URL:
        return
    parts, mine = urlsplit(settings.VECTOR_DATABASE_URL), connection.settings_dict
    there = parts.hostname or "", parts.port or "", parts.path.strip("/")
    if connection.vendor != "postgresql" or there != (mine["HOST"], mine["PORT"], mine["NAME"]):
        yield (
            "Vectors in QUORUM_VECTOR_DATABASE_URL are not included: `quorum index build` makes "
            "them again."
        )
