"""One contract of the place for other machines' vectors, a folder and S3; and how each refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import boto3
import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from pytest_django import Settings

from config.settings import _storage_at
from core.errors import UserError
from retrieval.vectors.remote import fetch_holding, fetch_missing, publish
from retrieval.vectors.shards import Shard, complete_shards, files_of, record_of, sound_shards
from retrieval.vectors.unfinished_files import UNFINISHED
from tests.exports.support.storage import BUCKET, IN_THE_BUCKET, s3_server
from tests.retrieval.vectors.shard_files import IDENTITY, keys_of, shard_of_pairs


def lie_at(place: str, settings: Settings) -> None:
    settings.STORAGES = settings.STORAGES | {"vectors": _storage_at("QUORUM_VECTORS", place)}


@pytest.fixture(params=["disk", "s3"])
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    if request.param == "disk":
        lie_at(str(tmp_path / "far"), settings)
        yield str(tmp_path / "far")
        return
    with s3_server(monkeypatch):
        lie_at(IN_THE_BUCKET, settings)
        yield IN_THE_BUCKET


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The store's folder here; the other machine's has the same name."""
    (tmp_path / "mine" / "qq-store").mkdir(parents=True)
    return tmp_path / "mine" / "qq-store"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    (tmp_path / "theirs" / "qq-store").mkdir(parents=True)
    return tmp_path / "theirs" / "qq-store"


def overwrite(name: str, content: bytes) -> None:
    storages["vectors"].delete(f"qq-store/{name}")
    storages["vectors"].save(f"qq-store/{name}", ContentFile(content))


def read(name: str) -> bytes:
    with storages["vectors"].open(f"qq-store/{name}", "rb") as file:
        return bytes(file.read())


def test_what_was_published_is_fetched_whole_and_once(place: str, theirs: Path, mine: Path) -> None:
    shards = [shard_of_pairs(theirs, range(5)), shard_of_pairs(theirs, range(5, 9))]
    for shard in shards:
        publish(theirs, shard)
    fetch_missing(mine, shards)
    assert sound_shards(mine, IDENTITY) == sorted(shards, key=lambda shard: shard.name)
    before = {path.name: path.stat().st_mtime_ns for path in mine.iterdir()}
    fetch_missing(mine, shards)
    assert {path.name: path.stat().st_mtime_ns for path in mine.iterdir()} == before


def test_a_file_that_is_gone_or_cut_short_here_is_fetched_again(
    place: str, theirs: Path, mine: Path
) -> None:
    shard = shard_of_pairs(theirs, range(5))
    publish(theirs, shard)
    fetch_missing(mine, [shard])
    keys, vectors = files_of(shard.name)
    (mine / keys).unlink()
    (mine / vectors).write_bytes(b"half")
    fetch_missing(mine, [shard])
    assert sound_shards(mine, IDENTITY) == [shard]


def test_only_shards_with_pairs_that_are_wanted_come(place: str, theirs: Path, mine: Path) -> None:
    shards = [shard_of_pairs(theirs, range(n, n + 5)) for n in (0, 5, 10)]
    for shard in shards:
        publish(theirs, shard)
    assert fetch_holding(mine, IDENTITY, np.sort(keys_of([6, 7]))) == [shards[1]]
    assert complete_shards(mine, IDENTITY) == ([shards[1]], [])
    assert not [path for path in mine.iterdir() if not path.name.startswith(shards[1].name)]
    assert fetch_holding(mine, IDENTITY, keys_of([99])) == []


def test_what_is_damaged_here_is_fetched_with_its_shard(
    place: str, theirs: Path, mine: Path
) -> None:
    shard = shard_of_pairs(theirs, range(5))
    publish(theirs, shard)
    fetch_missing(mine, [shard])
    for name in files_of(shard.name):
        content = (mine / name).read_bytes()
        (mine / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert sound_shards(mine, IDENTITY) == []
    assert fetch_holding(mine, IDENTITY, keys_of([1])) == [shard]
    assert sound_shards(mine, IDENTITY) == [shard]


def test_a_place_where_nothing_is_yet_has_nothing(place: str, mine: Path) -> None:
    shard = shard_of_pairs(mine.with_name("other"), range(3))
    fetch_missing(mine, [shard])
    assert fetch_holding(mine, IDENTITY, keys_of([1])) == []
    assert list(mine.iterdir()) == []


def test_a_file_damaged_there_is_refused_by_name_and_leaves_nothing_here(
    place: str, theirs: Path, mine: Path
) -> None:
    shard = shard_of_pairs(theirs, range(5))
    publish(theirs, shard)
    vectors = files_of(shard.name)[1]
    content = read(vectors)
    overwrite(vectors, content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UserError) as caught:
        fetch_missing(mine, [shard])
    assert str(caught.value) == (
        f"qq-store/{vectors} is damaged in {place}, it is not the file recorded: delete it there "
        "and run the command again."
    )
    assert not (mine / vectors).exists()
    assert not list(mine.glob(f"*{UNFINISHED}"))
    assert complete_shards(mine, IDENTITY) == ([], [])


def test_a_record_damaged_there_is_refused_by_name(place: str, theirs: Path, mine: Path) -> None:
    shard = shard_of_pairs(theirs, range(5))
    publish(theirs, shard)
    overwrite(record_of(shard.name), b'{"name": "x"}')
    with pytest.raises(UserError, match=f"qq-store/{record_of(shard.name)} is damaged in {place}"):
        fetch_holding(mine, IDENTITY, keys_of([1]))


def test_publishing_again_sends_what_a_killed_process_left_half(
    place: str, theirs: Path, mine: Path
) -> None:
    shard = shard_of_pairs(theirs, range(5))
    publish(theirs, shard)
    vectors = files_of(shard.name)[1]
    whole = read(vectors)
    overwrite(vectors, whole[:9])
    publish(theirs, shard)
    assert read(vectors) == whole


def test_the_record_is_sent_last(
    theirs: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie_at(str(tmp_path / "far"), settings)
    names: list[str] = []
    save = storages["vectors"]._save  # type: ignore[attr-defined]

    def noting(name: str, content: IO[bytes]) -> Any:
        names.append(name)
        return save(name, content)

    monkeypatch.setattr(storages["vectors"], "_save", noting)
    shard = shard_of_pairs(theirs, range(5))
    publish(theirs, shard)
    publish(theirs, shard)
    sent = [*files_of(shard.name), record_of(shard.name)]
    assert names == [f"qq-store/{name}" for name in sent]


def test_without_a_place_nothing_is_sent_or_fetched(theirs: Path, mine: Path) -> None:
    shard: Shard = shard_of_pairs(theirs, range(5))
    publish(theirs, shard)
    fetch_missing(mine, [shard])
    assert fetch_holding(mine, IDENTITY, keys_of([1])) == []
    assert list(mine.iterdir()) == []


def test_a_bucket_that_is_not_there_is_told_in_one_sentence(
    theirs: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = shard_of_pairs(theirs, range(5))
    with s3_server(monkeypatch):
        lie_at("s3://elsewhere/in", settings)
        with pytest.raises(UserError) as caught:
            publish(theirs, shard)
    assert str(caught.value).startswith(
        "The storage of the vectors, s3://elsewhere/in, cannot be written ("
    )
    assert "or let QUORUM_VECTORS name another place." in str(caught.value)


def test_a_bucket_holds_the_store_under_the_folder_named(
    theirs: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server(monkeypatch):
        lie_at(IN_THE_BUCKET, settings)
        shard = shard_of_pairs(theirs, range(5))
        publish(theirs, shard)
        listed = boto3.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    names = sorted([*files_of(shard.name), record_of(shard.name)])
    assert [one["Key"] for one in listed] == [f"in/a/folder/qq-store/{name}" for name in names]
    assert [one["Size"] for one in listed] == [(theirs / name).stat().st_size for name in names]
