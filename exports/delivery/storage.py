"""Where releases lie: `storages["releases"]`, a folder or S3. Nothing that is there is overwritten.

A release lies under a prefix of its own, which nobody finds before its row is in the database. What
a build that failed has left has a row of its own, and is discarded by the campaign's next build.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, storages
from django.core.files.storage.base import Storage

from annotation.models import Campaign
from core.errors import UserError
from core.files.work_folder import sync, sync_folders
from core.progress import Progress, no_progress
from core.storage import location_of, steps, translated
from exports.models import Release, ReleaseFile

ALIAS = "releases"
MOST_BYTES = 1 << 20  # of a text on a page


def storage() -> Storage:
    return storages[ALIAS]


def new_prefix(campaign: Campaign, number: int, claim: str) -> str:
    """Of one attempt: two never write to one place."""
    return f"{folder_of(campaign)}/{number}-{claim}"


def folder_of(campaign: Campaign) -> str:
    # The uid, too: another database's campaign of this name may have its releases in the bucket.
    return f"{campaign.name}-{campaign.uid.hex[:12]}"


def put(files: Mapping[str, Path], prefix: str, progress: Progress = no_progress) -> None:
    """Store the files under their paths in the release; `progress` counts bytes."""
    place = storage()
    with translated(ALIAS, "written"):
        for path, source in files.items():
            with source.open("rb") as content:
                name = place.save(f"{prefix}/{path}", File(content))
            if isinstance(place, FileSystemStorage):
                sync(Path(place.path(name)))
            progress(source.stat().st_size)
        if isinstance(place, FileSystemStorage):
            sync_folders(Path(place.path(prefix)))


def open_file(file: ReleaseFile) -> File[bytes]:
    with translated(ALIAS, "read"):
        return storage().open(key(file), "rb")


def read_lines(file: ReleaseFile) -> Iterator[bytes]:
    with open_file(file) as lines, translated(ALIAS, "read"):
        yield from lines


def read_start(file: ReleaseFile, size: int) -> bytes:
    """At most so many bytes."""
    with open_file(file) as content, translated(ALIAS, "read"):
        start: bytes = content.read(size)
        return start


def key(file: ReleaseFile) -> str:
    """Its name in the storage."""
    return f"{file.release.prefix}/{file.path}"


def fetch(files: Iterable[ReleaseFile], folder: Path) -> None:
    """Copy the files into the folder; UserError where one is not what was stored."""
    for file in files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with open_file(file) as content, target.open("xb") as written:
            for step in steps(ALIAS, content):
                digest.update(step)
                written.write(step)
        if digest.hexdigest() != file.sha256:
            raise UserError(
                f"{file.path} of release {file.release} is damaged in {location_of(ALIAS)}: its "
                "checksum is not the one recorded; bring the file back from a backup."
            )


def discard(prefix: str) -> None:
    place = storage()
    with translated(ALIAS, "cleared"):
        _discard(place, prefix)


def _discard(place: Storage, prefix: str) -> None:
    with suppress(FileNotFoundError):
        folders, files = place.listdir(prefix)
        for name in files:
            place.delete(f"{prefix}/{name}")
        for name in folders:
            _discard(place, f"{prefix}/{name}")
        if isinstance(place, FileSystemStorage):
            place.delete(prefix)


def read_text(release: Release, path: str) -> str | None:
    """None where the release has no such file."""
    try:
        start = read_start(ReleaseFile(release=release, path=path), MOST_BYTES)
    except UserError:
        return None
    return start.decode("utf-8", "replace")


def read_document(release: Release, path: str) -> dict[str, Any]:
    """Empty where it is missing or no document any more."""
    try:
        document = orjson.loads(read_text(release, path) or "{}")
    except orjson.JSONDecodeError:
        return {}
    return document if isinstance(document, dict) else {}
