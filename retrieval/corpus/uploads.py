"""Files that people have sent to the site: a folder for each import, emptied when it is done.

    DATA_DIR/uploads/TOKEN/   1.csv, 2.jsonl.gz ... and rejected-1.jsonl: rows that were refused

A file keeps nothing of its name but the ending that tells the reader what it is.
"""

import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.conf import settings

from core.errors import UserError
from core.files.open import open_unpacked
from core.files.read_apart import read_apart
from core.files.rows import DELIMITERS
from core.progress import Progress
from retrieval.corpus.sources.lazy import parquet_bytes

MOST_FILES = 20
MOST_BYTES = 10_000_000_000  # of all files of an import
RESERVE = 1_000_000_000  # bytes of the disk that an upload leaves free
# What text packs to. A file that unpacks to far more is made to fill a disk or a memory.
RATIO = 100
LEAST_UNPACKED = 100_000_000
MOST_UNPACKED = 100_000_000_000
STEP = 1 << 20
A_DAY = 86_400
KEPT_SECONDS = 30 * A_DAY
TOKEN = re.compile(r"[0-9a-f]{32}")  # of a folder
REJECTED = "rejected-"
PLAIN = (".jsonl", *DELIMITERS, ".parquet")
ENDINGS = (*PLAIN, ".json", ".txt")


@dataclass(frozen=True)
class UploadedFile:
    """One file of an import: its place in the folder, and the name that people know it by."""

    stored: str
    name: str
    bytes: int


def uploads_root() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def folder_of(token: str) -> Path:
    return uploads_root() / token


def new_folder() -> Path:
    """UserError where the disk cannot take it; what is left of old imports goes first."""
    try:
        sweep()
        folder = folder_of(secrets.token_hex(16))
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(no_room(error)) from error
    return folder


def no_room(error: OSError) -> str:
    return (
        f"The site could not save the upload ({error.strerror or error}): ask the "
        "administrator to free disk space. Nothing was imported."
    )


def require_room(size: int) -> None:
    """Of what will be sent; checked first, so that nobody waits for the end of it."""
    if size > MOST_BYTES:
        raise UserError(
            f"The upload has {size / 1e9:,.1f} GB, and the limit is {MOST_BYTES / 1e9:,.0f} GB:"
            " split it, or ask the administrator to import it with `quorum corpus import`."
        )
    root = uploads_root()
    root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(root).free
    if size + RESERVE > free:
        raise UserError(
            f"The site's disk has {free / 1e9:,.1f} GB left, too little for {size / 1e9:,.1f} GB"
            f" beside the {RESERVE / 1e9:,.0f} GB that must stay free: ask the administrator to "
            "free disk space. Nothing was imported."
        )


def ending_of(name: str) -> str:
    """Of those that readers go by; empty where it has none of them."""
    lower = name.lower()
    packed = ".gz" if lower.endswith(".gz") else ""
    lower = lower.removesuffix(".gz")
    return next((one for one in ENDINGS if lower.endswith(one)), "") + packed


def check_sent(folder: Path, files: Sequence[UploadedFile], *, plain: bool) -> None:
    """Refuse at once what its ending or its beginning tells to be no data.

    `plain`: in no published format, so that the ending decides.
    """
    for file in files:
        if not file.bytes:
            raise UserError(f"{file.name} is empty: choose a file that has rows.")
        _check_beginning(folder / file.stored, file.name)
        if plain and ending_of(file.name).removesuffix(".gz") not in PLAIN:
            raise UserError(
                f"{file.name} has an unknown type: its name must end in {', '.join(PLAIN)}, or in"
                " one of the first three with .gz; otherwise choose the format that it is "
                "published in."
            )


def _check_beginning(path: Path, name: str) -> None:
    if path.name.endswith(".parquet"):
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                raise UserError(f"{name} is not a Parquet file: correct its file name.")
        return
    try:
        with open_unpacked(path):
            pass
    except UserError as error:
        raise UserError(str(error).replace(str(path), name)) from error


def require_moderate(path: Path, progress: Progress) -> None:
    """Refuse a file that unpacks to what no text does; `progress` counts its bytes on the disk."""
    size = path.stat().st_size
    most = min(MOST_UNPACKED, max(LEAST_UNPACKED, RATIO * size))
    unpacked = sum(read_apart(path, partial(_unpacked, path, most), progress))
    if unpacked > most:
        raise UserError(
            f"{path} has {size:,} bytes and unpacks to more than {most:,}, which no text file "
            "does: unpack it and check its content."
        )


def _unpacked(path: Path, most: int, progress: Progress) -> Iterator[int]:
    """Bytes that it unpacks to, not counted any further than `most`."""
    if path.name.endswith(".parquet"):
        yield parquet_bytes(path, most)
        progress(path.stat().st_size)
    elif path.name.endswith(".gz"):
        unpacked = reported = 0
        with open_unpacked(path) as (stream, raw):
            while unpacked <= most and (step := stream.read(STEP)):
                unpacked += len(step)
                progress(raw.tell() - reported)
                reported = raw.tell()
        yield unpacked


def throw_away(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def waiting_folders() -> list[Path]:
    """Of imports, to which nothing has come for a day."""
    return list(_untouched(A_DAY))


def throw_away_sent(folder: Path) -> None:
    """The rows that were refused stay for their reader."""
    with suppress(FileNotFoundError):  # somebody else throws it away
        for path in folder.iterdir():
            if not path.name.startswith(REJECTED):
                path.unlink(missing_ok=True)
    with suppress(OSError):  # where such rows are left
        folder.rmdir()


def sweep() -> None:
    """Whatever has become of their imports: nobody looks for rejected rows after a month."""
    for folder in _untouched(KEPT_SECONDS):
        throw_away(folder)


def _untouched(seconds: float) -> Iterator[Path]:
    """Folders of imports, for so long."""
    root = uploads_root()
    for folder in root.iterdir() if root.is_dir() else ():
        with suppress(FileNotFoundError):  # somebody else throws it away
            age = time.time() - folder.stat().st_mtime
            if TOKEN.fullmatch(folder.name) and age > seconds:
                yield folder
