"""Files of users, opened with words for what is wrong with one."""

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from core.errors import UserError

GZIP = b"\x1f\x8b"
WEB_PAGE = "is a web page, not a file of data: download the file itself"
UTF_16 = "is in UTF-16 or UTF-32: save it as UTF-8"
# What a file is that begins so, and what to do.
NO_TEXT: Mapping[bytes, str] = {
    b"<!doctype html": WEB_PAGE,
    b"<html": WEB_PAGE,
    b"<?xml": "is XML, which no format here is: save it as CSV, TSV, JSONL or Parquet",
    b"PK\x03\x04": "is a zip archive or an Excel workbook: unpack it, or save it as CSV (UTF-8)",
    b"\xd0\xcf\x11\xe0": "is an old Excel or Word file: save it as CSV (UTF-8)",
    b"%PDF": "is a PDF, not a file of data: choose the file that the rows are in",
    b"PAR1": "is Parquet: rename it to end in .parquet where that is accepted, or save it as CSV",
    GZIP: "is compressed by gzip: rename it to end in .gz",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd: unpack it, or compress it by gzip",
    b"BZh": "is compressed by bzip2: unpack it, or compress it by gzip",
    b"\xfd7zXZ": "is compressed by xz: unpack it, or compress it by gzip",
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
}
BEGINNING = 512
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")


def check_is_file(path: Path) -> None:
    if not os.path.exists(path):  # unlike Path.exists never raises
        raise UserError(f"There is no file {path}: check the path.")
    if not os.path.isfile(path):
        raise UserError(f"{path} is not a file but a folder or a device: name one file.")


@contextmanager
def open_unpacked(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A text file's content, unpacked where it ends in .gz, and the file as it is on the disk."""
    try:
        with path.open("rb") as raw:
            stream = raw
            if path.name.lower().endswith(".gz"):
                if (packed := raw.peek()) and not packed.startswith(GZIP):
                    raise UserError(f"{path} is not compressed by gzip: remove .gz from its name.")
                # GzipFile has all of BufferedReader that is used here.
                stream = cast(BufferedReader, gzip.GzipFile(fileobj=raw))
            _require_text(path, stream.peek(BEGINNING)[:BEGINNING])
            yield stream, raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is not a whole gzip file ({error}): compress it again.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error


def _require_text(path: Path, start: bytes) -> None:
    words = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for sign, what in NO_TEXT.items():
        if start.startswith(sign) or words.startswith(sign):
            raise UserError(f"{path} {what}.")
    if start and not start.strip(b"\0"):
        raise UserError(
            f"{path} begins with zero bytes alone, as a file that was cut off while it was written:"
            " get it again."
        )
    controls = len(start) - len(start.translate(None, CONTROLS))
    half_empty = start.count(0) * 3 > len(start)
    if half_empty and controls == start.count(0):
        raise UserError(f"{path} {UTF_16}.")
    if controls * 20 > len(start) and (half_empty or not _is_utf8(start)):
        raise UserError(f"{path} is not a text file: name the file that the rows are in.")


def _is_utf8(start: bytes) -> bool:
    """The last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True
