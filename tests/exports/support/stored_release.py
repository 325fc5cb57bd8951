"""Releases in a storage of the test's own: made by the real steps, from a campaign of a seed."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from django.core.files.storage import storages

from annotation.models import Campaign
from exports.building.assemble import Previous, build
from exports.building.options import Options
from exports.layout.archive import write_archive
from exports.layout.files import CHANGES, MANIFEST, STATS
from exports.layout.manifest import checksum
from exports.models import Release, ReleaseFile
from tests.exports.support.built_releases import published_in
from tests.exports.support.extracts import random_extract

# Enough for every figure and plot there is; each next release holds some queries more.
QUERIES, MORE, CANDIDATES = 60, 5, 12

SHARES = {"train": 0.7, "dev": 0.15, "test": 0.15}


@cache
def _place() -> TemporaryDirectory[str]:
    """Gone with the process."""
    return TemporaryDirectory(prefix="quorum-releases-")


@cache
def built(number: int, *, judgments: bool = True, name: str = "demo") -> Path:
    """A release's folder, its archive beside it."""
    place = Path(_place().name, "with" if judgments else "without")
    queries = QUERIES + MORE * (number - 1)
    made = random_extract(3, queries=queries, candidates=CANDIDATES, **SHARES)
    made.campaign["campaign"] = name
    extract = made.write(place / "extract")
    folder = place / f"{name}-{number}"
    before = None
    if number > 1:
        last = built(number - 1, judgments=True, name=name)
        before = Previous(number - 1, checksum(last / MANIFEST)["sha256"], last)
    build(
        extract,
        folder,
        options=Options(judgments=judgments),
        number=number,
        previous=before,
        published=published_in(before.folder) if before else {},
    )
    write_archive(folder, place / f"{folder.name}.tar.zst", name=folder.name)
    shutil.rmtree(extract)
    return folder


def stored_release(
    campaign: Campaign, number: int = 1, *, judgments: bool = True, **facts: Any
) -> Release:
    """`facts` are columns of the release's row, in the place of the true ones."""
    folder = built(number, judgments=judgments, name=campaign.name)
    found = (path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): path for path in found}
    archive = folder.with_name(f"{folder.name}.tar.zst")
    files[archive.name] = archive
    prefix = f"{campaign.name}/{number}"
    values: dict[str, Any] = {
        "options": Options(judgments=judgments).to_dict(),
        "stats": orjson.loads((folder / STATS).read_bytes()),
        "changes": orjson.loads((folder / CHANGES).read_bytes()),
        "manifest_sha256": checksum(folder / MANIFEST)["sha256"],
        "created_by": "ada",
    }
    release = Release.objects.create(
        campaign=campaign, number=number, prefix=prefix, **{**values, **facts}
    )
    for path, source in files.items():
        with source.open("rb") as content:
            storages["releases"].save(f"{prefix}/{path}", content)
    ReleaseFile.objects.bulk_create(
        ReleaseFile(release=release, path=path, **checksum(source))
        for path, source in files.items()
    )
    return release
