"""The steps of a build: out of the record, into the storage, into the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone

from annotation.models import Campaign, Event
from annotation.notifications.events import emit, owners
from core.errors import UserError
from exports.building.assemble import Previous, build
from exports.building.options import Options
from exports.building.split_encoder import query_encoder
from exports.building.stages import PACKING, READING, STORING, Stages
from exports.delivery.storage import discard, fetch, new_prefix, put, read_lines
from exports.extract.extract import extract
from exports.layout.archive import write_archive
from exports.layout.files import (
    CAMPAIGN,
    CARD,
    CHANGED_LABELS,
    CHANGES,
    CROISSANT,
    MANIFEST,
    PLACEMENTS,
    RELEASE,
    SPLIT_FILES,
    STATS,
)
from exports.layout.manifest import checksum, checksums
from exports.models import Build, Deposit, Release, ReleaseFile
from retrieval.jobs.queue import JobLost, keep

# What a release says of itself, or what its plots show of its figures: no change of the dataset.
OF_ITSELF = (CARD, CROISSANT, RELEASE, CHANGES, CHANGED_LABELS, MANIFEST)
PLOTS = "plots/"
FORGOTTEN = timedelta(days=1)


@dataclass(frozen=True)
class BuiltRelease:
    """A release's folder, and its archive beside it; or the release that it is no change of."""

    number: int
    options: Options
    folder: Path
    same_as: Release | None
    note: str

    @property
    def archive(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.tar.zst")

    def files(self) -> dict[str, Path]:
        """By their paths in the storage, the archive among them."""
        names = [*checksums(self.folder), MANIFEST]
        return {name: self.folder / name for name in names} | {self.archive.name: self.archive}


def make_release(current: Build, work: Path, stages: Stages) -> BuiltRelease:
    """The next release's folder in `work`."""
    campaign = current.campaign
    facts, options = _read(current, work / "extract", stages)
    last = campaign.releases.order_by("number").last()
    number = last.number + 1 if last else 1
    encoder = query_encoder(facts["retriever"])
    folder = work / f"{campaign}-{number}"
    build(
        work / "extract",
        folder,
        options=options,
        number=number,
        previous=_previous(last, work / "before") if last else None,
        published=_published(campaign),
        encode=encoder.encode,
        watch=stages.begin,
    )
    same = last if last and _is_same(last, folder, options) else None
    return BuiltRelease(number, options, folder, same, encoder.note)


def _read(current: Build, folder: Path, stages: Stages) -> tuple[dict[str, Any], Options]:
    """campaign.json, and what was asked as far as it makes a difference."""
    options = Options.from_dict(current.options)
    queries = current.campaign.query_set.whole.count()
    folder.mkdir()
    extract(
        current.campaign, folder, partial=options.partial, progress=stages.begin(READING, queries)
    )
    facts = json.loads((folder / CAMPAIGN).read_bytes())
    return facts, replace(options, partial=options.partial and facts["triplets"]["open"] > 0)


def _previous(last: Release, folder: Path) -> Previous:
    fetch(last.files.select_related("release").filter(path__in=SPLIT_FILES), folder)
    return Previous(last.number, last.manifest_sha256, folder)


def _published(campaign: Campaign) -> dict[str, str | None]:
    """The split in which each query was published last, be it elsewhere, before it came here."""
    elsewhere = campaign.query_set.whole.exclude(split="").values_list("key", "split")
    split_of: dict[str, str | None] = dict(elsewhere)
    files = ReleaseFile.objects.filter(release__campaign=campaign, path=PLACEMENTS)
    for file in files.select_related("release").order_by("release__number"):
        for line in read_lines(file):
            row = orjson.loads(line)
            if row["split"] is not None:
                split_of[row["id"]] = row["split"]
    return split_of


def _is_same(last: Release, folder: Path, options: Options) -> bool:
    before = dict(last.files.values_list("path", "sha256"))
    now = {name: sums["sha256"] for name, sums in checksums(folder).items()}
    return last.options == options.to_dict() and _data(before) == _data(now)


def _data(sums: Mapping[str, object]) -> dict[str, object]:
    return {
        name: value
        for name, value in sums.items()
        if name not in OF_ITSELF and not name.startswith(PLOTS) and not name.endswith(".tar.zst")
    }


def store(current: Build, built: BuiltRelease, stages: Stages) -> Release:
    """All its files into the storage, then its rows into the database: both, or neither."""
    stages.begin(PACKING, 1)
    write_archive(built.folder, built.archive, name=built.folder.name)
    files = built.files()
    prefix = new_prefix(current.campaign, built.number, current.claim)
    size = sum(path.stat().st_size for path in files.values())
    _discard_leftovers(current.campaign)
    Deposit.objects.create(campaign=current.campaign, prefix=prefix)
    try:
        put(files, prefix, stages.begin(STORING, size))
        return _record(current, built, prefix, files)
    except (UserError, JobLost):
        with suppress(UserError):  # else the next build does it
            # Not by its row: who took this build over may have cleared that away already.
            discard(prefix)
            Deposit.objects.filter(prefix=prefix).delete()
        raise


def _discard_leftovers(campaign: Campaign) -> None:
    """Of builds that were killed: who claimed this one has taken every earlier claim away."""
    for deposit in campaign.deposits.all():
        discard(deposit.prefix)
    # Until then somebody who was believed dead may still be writing there.
    campaign.deposits.filter(created_at__lt=timezone.now() - FORGOTTEN).delete()


@transaction.atomic
def _record(current: Build, built: BuiltRelease, prefix: str, files: Mapping[str, Path]) -> Release:
    finish(current, built, built.number)  # and nobody else takes it before this has ended
    by = current.requested_by
    release = Release.objects.create(
        campaign=current.campaign,
        number=built.number,
        prefix=prefix,
        options=built.options.to_dict(),
        stats=orjson.loads((built.folder / STATS).read_bytes()),
        changes=orjson.loads((built.folder / CHANGES).read_bytes()),
        manifest_sha256=checksum(built.folder / MANIFEST)["sha256"],
        created_by=by.get_username() if by else "",
    )
    ReleaseFile.objects.bulk_create(
        ReleaseFile(release=release, path=path, **checksum(source))
        for path, source in files.items()
    )
    Deposit.objects.filter(prefix=prefix).delete()
    people = {user.pk: user for user in (*owners(current.campaign), *([by] if by else []))}
    details = {"release": built.number, "manifest_sha256": release.manifest_sha256}
    emit(Event.Type.RELEASE, details, campaign=current.campaign, people=people.values())
    return release


def finish(current: Build, built: BuiltRelease, number: int) -> None:
    """JobLost where another process has taken the build over."""
    unchanged = built.same_as is not None
    keep(current, {"release": number, "unchanged": unchanged, "note": built.note})
