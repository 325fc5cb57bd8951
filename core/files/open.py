"""Files of users, opened with words for what is wrong with one."""

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from core.errors import UserError


def check_is_file(path: Path) -> None:
    if not os.path.exists(path):  # unlike Path.exists never raises
        raise UserError(f"There is no file {path}: check the path.")
    if not os.path.isfile(path):
        raise UserError(f"{path} is not a file but a folder or a device: name one file.")


@contextmanager
def open_unpacked(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The file's content, unpacked where it ends in .gz, and the file as it lies on the disk."""
    try:
        with path.open("rb") as raw:
            # GzipFile has all of BinaryIO that is used here.
            packed = path.name.lower().endswith(".gz")
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw, raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is not a whole gzip file ({error}): compress it again.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error


def refuse_other_encodings(path: Path, line: bytes) -> None:
    """`line`: the beginning of the file, to its first line end or further."""
    start = line[:200]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or start.count(0) * 3 > len(start):
        raise UserError(f"{path} is in UTF-16 or UTF-32: save it as UTF-8.")
    if start.startswith(b"\x1f\x8b"):
        raise UserError(f"{path} is compressed by gzip: rename it to end in .gz.")
