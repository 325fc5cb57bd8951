"""Whole releases without a database, built of random extracts."""

from __future__ import annotations

import json
from pathlib import Path

from exports.building.assemble import Previous, build
from exports.building.options import Options
from exports.layout.files import MANIFEST, PLACEMENTS, RELEASE
from exports.layout.manifest import manifest
from retrieval.ranking.records import document
from tests.exports.support.extracts import Extract, random_extract


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
    build(
        record,
        folder,
        options=options or Options(),
        number=previous.number + 1 if previous else 1,
        previous=previous,
        published=published_in(previous.folder) if previous else {},
    )
    return folder


def published_in(folder: Path) -> dict[str, str | None]:
    """The queries of a release that are in a split."""
    rows = map(json.loads, (folder / PLACEMENTS).read_bytes().splitlines())
    return {row["id"]: row["split"] for row in rows if row["split"]}


def sealed(folder: Path) -> None:
    """Write the manifest again: each file changed since has a right checksum."""
    release = json.loads((folder / RELEASE).read_bytes())
    known = {"number": release["number"], "version": release["format_version"]}
    (folder / MANIFEST).write_bytes(document(manifest(folder, campaign="demo", **known)))
