"""Whole releases without a database, built of random extracts."""

from __future__ import annotations

import json
from pathlib import Path

from exports.build import Options, Previous, build
from exports.layout import MANIFEST, RELEASE
from exports.manifest import manifest
from retrieval.dataset import document
from tests.exports.extracts import Extract, random_extract


def finished(
    folder: Path,
    extract: Extract | None = None,
    *,
    options: Options | None = None,
    previous: Previous | None = None,
) -> Path:
    """The release of the extract, or of a small random one."""
    extract = extract or random_extract(5, queries=18)
    record = extract.write(folder.with_name(f"{folder.name}-extract"))
    number = previous.number + 1 if previous else 1
    build(record, folder, options=options or Options(), number=number, previous=previous)
    return folder


def sealed(folder: Path) -> None:
    """The manifest of what lies there now: whoever changed a file made its checksum right again."""
    number = json.loads((folder / RELEASE).read_bytes())["number"]
    (folder / MANIFEST).write_bytes(document(manifest(folder, campaign="demo", number=number)))
