"""What a release's files make once more, beside the release, and where the two differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from exports.layout.manifest import versions
from exports.verify.findings import quote

LINE = 2**16  # bytes that are read at once
ROWS = 65_536


def link_all(folder: Path, paths: set[str], work: Path) -> None:
    """The release's own files, to be read where others are written."""
    for path in paths:
        target = work / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to((folder / path).resolve())


def written(work: Path) -> list[str]:
    """The files in it that are no links."""
    files = (path for path in work.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.relative_to(work).as_posix() for path in files)


def first_difference(stated: Path, made: Path) -> str:
    """In words that follow the file's name."""
    if stated.suffix == ".parquet":
        return _first_row(stated, made)
    with stated.open("rb") as one, made.open("rb") as other:
        both = zip_longest(_pieces(one), _pieces(other))
        for number, (left, right) in enumerate(both, start=1):
            if left is None or right is None:
                return f"line {number} is {'missing' if left is None else 'one too many'}"
            if left != right:
                return f"line {number} is {_text(left)}, the other files make {_text(right)}"
    return "not what the other files make"


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Lines, the longest in parts."""
    return iter(lambda: file.readline(LINE), b"")


def _text(line: bytes) -> str:
    return quote(line.decode(errors="replace").rstrip("\n"))


def _first_row(stated: Path, made: Path) -> str:
    try:
        for number, (left, right) in enumerate(zip_longest(_rows(stated), _rows(made)), start=1):
            if left is None or right is None:
                return f"row {number} is {'missing' if left is None else 'one too many'}"
            for column in right:
                if left.get(column) != right[column]:
                    return (
                        f"row {number}: {column} is {quote(left.get(column))}, the other files "
                        f"make {quote(right[column])}"
                    )
    except (pa.ArrowException, OSError) as error:
        return f"cannot be read ({quote(error)})"
    return "not the columns that the other files make"


def _rows(path: Path) -> Iterator[dict[str, object]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROWS):
            yield from batch.to_pylist()


def other_quorum(stated: Mapping[str, object]) -> str | None:
    """Both versions, where the release is of another one than that installed."""
    here = versions()["quorum"]
    there = stated.get("quorum", here)
    return None if there == here else f"{quote(there)[1:-1]} (here {here})"


def other_versions(stated: Mapping[str, object]) -> list[str]:
    """Of the libraries that wrote the release, those that are here in another version."""
    here = {name: version for name, version in versions().items() if name in stated}
    return [
        f"{name} {quote(stated[name])[1:-1]} (here {version})"
        for name, version in here.items()
        if name != "quorum" and stated[name] != version
    ]
