"""One contract of the storage, on disk and on S3; and how each refuses."""

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import boto3
import pytest
from django.core.files.storage import storages
from pytest_django import Settings

from annotation.models import Campaign
from core.errors import UserError
from exports.delivery.storage import discard, fetch, new_prefix, open_file, put
from exports.models import Release, ReleaseFile
from tests.exports.building.leftovers import prefixes
from tests.exports.support.campaigns import make_campaign
from tests.exports.support.contents import contents
from tests.exports.support.storage import BUCKET, IN_THE_BUCKET, lie_at, s3_server

pytestmark = pytest.mark.django_db

LARGE = os.urandom(1 << 20) * 9  # more than one part of an upload
FILES = {"train.jsonl": b"", "parquet/test.parquet": LARGE, "a/b/c.txt": "ü\n".encode()}


@pytest.fixture(params=["disk", "s3"])
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    if request.param == "disk":
        lie_at(str(tmp_path / "stored"), settings)
        yield str(tmp_path / "stored")
        return
    with s3_server(monkeypatch):
        lie_at(IN_THE_BUCKET, settings)
        yield IN_THE_BUCKET


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign({})


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Path]:
    for name, content in FILES.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return {name: tmp_path / "made" / name for name in FILES}


def rows(campaign: Campaign, prefix: str) -> list[ReleaseFile]:
    release = Release.objects.create(
        campaign=campaign,
        number=1,
        prefix=prefix,
        options={},
        stats={},
        changes={},
        manifest_sha256="",
    )
    return [
        ReleaseFile.objects.create(
            release=release,
            path=path,
            bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        for path, content in FILES.items()
    ]


def test_what_was_put_is_fetched(
    place: str, campaign: Campaign, written: dict[str, Path], tmp_path: Path
) -> None:
    done: list[int] = []
    prefix = new_prefix(campaign, 1, "c1")
    put(written, prefix, done.append)
    fetch(rows(campaign, prefix), tmp_path / "fetched")
    assert contents(tmp_path / "fetched") == FILES
    assert sum(done) == sum(map(len, FILES.values()))


def test_a_file_is_opened_by_its_row(
    place: str, campaign: Campaign, written: dict[str, Path]
) -> None:
    put(written, new_prefix(campaign, 1, "c1"))
    small = rows(campaign, new_prefix(campaign, 1, "c1"))[2]
    with open_file(small) as content:
        assert list(content) == [FILES["a/b/c.txt"]]


def test_what_was_discarded_is_gone_and_the_rest_is_not(
    place: str, campaign: Campaign, written: dict[str, Path]
) -> None:
    kept, left = new_prefix(campaign, 1, "c1"), new_prefix(campaign, 1, "c2")
    put(written, kept)
    put(written, left)
    assert prefixes(campaign) == [kept, left]
    discard(left)
    assert prefixes(campaign) == [kept]
    discard(left)  # again, as after a kill


def test_another_campaigns_files_are_not_among_them(
    place: str, campaign: Campaign, written: dict[str, Path]
) -> None:
    assert prefixes(campaign) == []
    other = make_campaign({}, name=f"{campaign}-too")
    put(written, new_prefix(other, 1, "c1"))
    assert prefixes(campaign) == []


def test_a_file_that_was_changed_in_the_storage_is_refused(
    place: str, campaign: Campaign, written: dict[str, Path], tmp_path: Path
) -> None:
    prefix = new_prefix(campaign, 1, "c1")
    put(written, prefix)
    files = rows(campaign, prefix)
    discard(prefix)
    written["a/b/c.txt"].write_text("u\n")
    put(written, prefix)
    with pytest.raises(UserError) as caught:
        fetch(files, tmp_path / "fetched")
    assert str(caught.value) == (
        f"a/b/c.txt of release demo 1 is damaged in {place}: its checksum is not the one recorded; "
        "bring the file back from a backup."
    )


def test_a_file_that_is_gone_from_the_storage_is_refused(
    place: str, campaign: Campaign, tmp_path: Path
) -> None:
    files = rows(campaign, new_prefix(campaign, 1, "c1"))
    with pytest.raises(UserError, match=f"The storage of the releases, {place}, cannot be read"):
        fetch(files, tmp_path / "fetched")


def test_what_lies_on_disk_is_what_any_program_reads(
    campaign: Campaign, written: dict[str, Path], releases: Path
) -> None:
    prefix = new_prefix(campaign, 1, "c1")
    put(written, prefix)
    assert contents(releases / prefix) == FILES
    discard(prefix)
    assert list(releases.iterdir()) == [releases / prefix.split("/")[0]]


def test_a_full_disk_is_told_in_one_sentence(
    campaign: Campaign, written: dict[str, Path], releases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(name: str, content: IO[bytes]) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(storages["releases"], "_save", full)
    with pytest.raises(UserError) as caught:
        put(written, new_prefix(campaign, 1, "c1"))
    assert str(caught.value) == (
        f"The storage of the releases, {releases}, cannot be written (No space left on device): "
        "repair that and try again, or let QUORUM_RELEASES name another place."
    )


def test_a_bucket_that_is_not_there_is_told_in_one_sentence(
    campaign: Campaign,
    written: dict[str, Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with s3_server(monkeypatch):
        lie_at("s3://elsewhere/in", settings)
        with pytest.raises(UserError, match=r"s3://elsewhere/in, cannot be written .*NoSuchBucket"):
            put(written, new_prefix(campaign, 1, "c1"))


def test_a_server_that_does_not_answer_is_told_in_one_sentence(
    campaign: Campaign,
    written: dict[str, Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with s3_server(monkeypatch):
        lie_at(IN_THE_BUCKET, settings)
    with pytest.raises(UserError, match=r"cannot be written .*Could not connect"):
        put(written, new_prefix(campaign, 1, "c1"))


def test_a_bucket_holds_the_files_under_the_folder_named(
    campaign: Campaign,
    written: dict[str, Path],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with s3_server(monkeypatch):
        lie_at(IN_THE_BUCKET, settings)
        prefix = new_prefix(campaign, 1, "c1")
        put(written, prefix)
        found = boto3.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
        assert {each["Key"] for each in found} == {f"in/a/folder/{prefix}/{name}" for name in FILES}
