"""Rows of a user's file that could not be used, kept beside the data."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TextIO

from django.conf import settings


class Place(NamedTuple):
    """Of a row in its file, with its beginning."""

    line: int
    excerpt: str


@dataclass
class Rejects:
    """Refused rows, one a line; the file takes its place only when it is complete."""

    path: Path
    most: int | None = None  # rows written; all are counted
    count: int = 0
    first: str = ""
    _file: TextIO | None = field(default=None, repr=False)

    def add(self, place: Place, reason: str) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._unfinished.open("w", encoding="utf-8", errors="backslashreplace")
        if self.most is None or self.count < self.most:
            entry = {"line": place.line, "reason": reason, "text": place.excerpt}
            self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self.first = self.first or f"line {place.line}: {reason}"
        self.count += 1

    @property
    def _unfinished(self) -> Path:
        return self.path.with_name(self.path.name + ".unfinished")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if error is not None:
            self._unfinished.unlink(missing_ok=True)
        elif self.count:
            os.replace(self._unfinished, self.path)
        else:
            self.path.unlink(missing_ok=True)


def rejects_path(path: Path, source: str) -> Path:
    digest = hashlib.sha256(f"{path.resolve()}\n{source}".encode(errors="surrogateescape"))
    name = os.fsencode(path.name).decode(errors="replace")  # it will be printed
    return Path(settings.DATA_DIR) / "rejects" / f"{name}.{digest.hexdigest()[:8]}.jsonl"
