"""Elements of one large JSON document, one after the other in constant memory.

The standard library's decoder reads one element at a time from a window that moves over the file.
ijson is as fast, but one byte that is not UTF-8, or a NaN, would refuse the whole file rather than
its row, an element without an end would fill the memory, and no entry would be named.
"""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from core.errors import UserError
from core.files.open import open_unpacked
from core.files.rows import EXCERPT, beyond_limits, json_type
from core.progress import Progress

CHUNK = 1 << 16
LONGEST_ELEMENT = 50_000_000
WHITE_SPACE = " \t\r\n"
NEXT = WHITE_SPACE + ",:]}"


class Window:
    """The part of the document that is in memory, and the place in it."""

    def __init__(self, path: Path, stream: BinaryIO, raw: BinaryIO, progress: Progress) -> None:
        self.path, self.text, self.place = path, "", 0
        self._stream, self._raw, self._progress = stream, raw, progress
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._json = json.JSONDecoder()
        self._reported = 0
        self._ended = False
        self._read(CHUNK)

    def _read(self, size: int) -> None:
        chunk = self._stream.read(size)
        self._ended = not chunk
        self.text = self.text[self.place :] + self._decoder.decode(chunk, final=not chunk)
        self.place = 0
        self._progress(self._raw.tell() - self._reported)
        self._reported = self._raw.tell()

    def sign(self) -> str:
        """The next character that is not white space, without going past it; empty at the end."""
        while True:
            while self.place < len(self.text) and self.text[self.place] in WHITE_SPACE:
                self.place += 1
            if self.place < len(self.text) or self._ended:
                return self.text[self.place : self.place + 1]
            self._read(CHUNK)

    def skip(self, sign: str, where: str) -> None:
        there = self.sign()
        if there != sign:
            end = f"{there!r}" if there else "the end of the file"
            raise UserError(
                f"{self.path} is not a whole JSON document: {end} is where {sign!r} belongs, "
                f"{where}: fetch the file again."
            )
        self.place += 1

    def value(self, where: str) -> object:
        self.sign()
        size = CHUNK
        while True:
            try:
                value, end = self._json.raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise self._broken(where, error.msg) from error
            except (RecursionError, ValueError) as error:
                raise self._broken(where, beyond_limits(error)) from error
            else:
                # A number may go on in what is not read yet: 0. or 1e
                whole = not isinstance(value, int | float) or self.text[end : end + 1] in NEXT
                if (whole and end < len(self.text)) or self._ended:
                    self.place = end
                    return value
            if len(self.text) - self.place > LONGEST_ELEMENT:
                raise self._broken(where, f"it does not end within {LONGEST_ELEMENT:,} characters")
            self._read(size)
            size *= 2

    def _broken(self, where: str, reason: str) -> UserError:
        excerpt = self.text[self.place : self.place + 40]
        return UserError(
            f"{self.path} is not a whole JSON document ({reason}), {where}, which begins with "
            f"{excerpt!r}: fetch the file again."
        )


def first_sign(path: Path) -> str:
    with open_unpacked(path) as (stream, raw):
        return Window(path, stream, raw, lambda increment: None).sign()


def elements(path: Path, progress: Progress) -> Iterator[object]:
    """Of a document that is a list."""
    with open_unpacked(path) as (stream, raw):
        window = Window(path, stream, raw, progress)
        yield from _elements(window)
        _end(window)


def member_elements(path: Path, member: str, expected: str, progress: Progress) -> Iterator[object]:
    """Of the list under one name of a document that is an object; the others are passed over."""
    with open_unpacked(path) as (stream, raw):
        window = Window(path, stream, raw, progress)
        members: list[str] = []
        if window.sign() != "{":
            raise UserError(f"{path} does not begin as {expected} does: it is {_kind(window)}.")
        window.place += 1
        while window.sign() != "}":
            if members:
                window.skip(",", "between two members")
            name = str(window.value("in a member's name"))
            window.skip(":", f"after the name {name[:EXCERPT]!r}")
            members.append(name)
            if name == member and window.sign() == "[":
                yield from _elements(window)
            else:
                value = window.value(f"in the member {name[:EXCERPT]!r}")
                if name == member:
                    raise UserError(
                        f"{path} is not {expected}: {member!r} is {json_type(value)}, not a list."
                    )
        window.place += 1
        if member not in members:
            names = ", ".join(members)[:EXCERPT]
            raise UserError(f"{path} is not {expected}: its first object has {names or 'nothing'}.")
        _end(window)


def _elements(window: Window) -> Iterator[object]:
    window.skip("[", "at the beginning of a list")
    number = 0
    while window.sign() != "]":
        if number:
            window.skip(",", f"after entry {number:,}")
        number += 1
        yield window.value(f"in entry {number:,}")
    window.place += 1


def _end(window: Window) -> None:
    if sign := window.sign():
        raise UserError(
            f"{window.path} holds more than one JSON document: {sign!r} follows the first one."
        )


def _kind(window: Window) -> str:
    if not window.sign():
        return "empty"
    return "a list" if window.sign() == "[" else "no JSON object"
