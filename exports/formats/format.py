"""What a format is: files of each split in a folder of the release, and how they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from exports.formats.batch import Batch
from exports.layout.schemas import RecordColumn

Write = Callable[[Batch], None]
# The release's folder, the split and its columns: open for as long as the split's batches come.
Writer = Callable[[Path, str, Sequence[RecordColumn]], AbstractContextManager[Write]]


@dataclass(frozen=True)
class Snippet:
    key: str
    title: str
    language: str  # python or bash
    code: str  # runs where the release's folder lies, which it calls $folder


@dataclass(frozen=True)
class Format:
    key: str  # its folder
    title: str
    description: str  # a sentence
    media: Mapping[str, str]  # types by suffix
    open: Writer
    snippets: tuple[Snippet, ...]
