"""What is no whole backup, or does not fit here, is refused in a sentence; nothing changes."""

import io
import json
import sqlite3
import tarfile
from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError
from django.db import connection

from core.backup import archive
from tests.core.backup.conftest import OpenSite
from tests.support.command_line import quorum

Members = dict[str, bytes]
NOTHING = "Nothing was restored."
NO_BACKUP = "b.tar.zst was not written by `quorum backup`"


@pytest.fixture
def empty(open_site: OpenSite, tmp_path: Path) -> Path:
    return open_site(tmp_path / "new")


@pytest.fixture
def members(tmp_path: Path) -> Members:
    """Of a small backup."""
    with closing(sqlite3.connect(tmp_path / "small.sqlite3")) as small:
        small.execute("CREATE TABLE django_migrations (app text, name text)")
        small.commit()
    return {
        "database.sqlite3": (tmp_path / "small.sqlite3").read_bytes(),
        "secret_key": b"the key",
        "releases/faq/1/dev.jsonl": b"{}\n" * 1000,
    }


def manifest_of(members: Members, **facts: Any) -> dict[str, Any]:
    files = {
        name: {"bytes": len(content), "sha256": sha256(content).hexdigest()}
        for name, content in members.items()
    }
    about = {"format": "quorum-backup", "format_version": 1, "quorum": "0.1.0", "files": files}
    return {**about, "database": {"vendor": "sqlite", "migrations": []}, **facts}


def pack(path: Path, members: Mapping[str, bytes], *odd: tarfile.TarInfo, **facts: Any) -> Path:
    """`odd` ones come before the manifest, which does not name them."""
    with (
        path.open("wb") as file,
        zstandard.ZstdCompressor().stream_writer(file) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        for name, content in members.items():
            add(tar, name, content)
        for one in odd:
            tar.addfile(one, io.BytesIO(bytes(one.size)))
        add(tar, "manifest.json", json.dumps(manifest_of(dict(members), **facts)).encode())
    return path


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def odd(name: str, kind: bytes = tarfile.REGTYPE, **facts: object) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    for key, value in facts.items():
        setattr(entry, key, value)
    return entry


def refused(path: Path, empty: Path) -> str:
    """The sentence; nothing is left behind."""
    with pytest.raises(CommandError) as refusal:
        quorum("restore", path, "--quiet")
    assert refusal.value.returncode == 2
    assert not list(empty.rglob("*"))  # not even a database without tables
    return str(refusal.value)


def test_the_small_backup_itself_is_restored(
    members: Members, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.backup.restore.call_command", lambda *_, **__: None)
    quorum("restore", pack(tmp_path / "b.tar.zst", members), "--quiet")
    assert (empty / "releases/faq/1/dev.jsonl").read_bytes() == b"{}\n" * 1000


def test_a_member_that_was_changed_is_named(members: Members, empty: Path, tmp_path: Path) -> None:
    true = manifest_of(members)["files"]
    members["releases/faq/1/dev.jsonl"] = b"[]\n" * 1000
    path = pack(tmp_path / "b.tar.zst", members, files=true)
    assert refused(path, empty) == (
        f"{path} is damaged: 'releases/faq/1/dev.jsonl' is not what the manifest says. "
        f"{NOTHING} Take another copy of the backup."
    )


@pytest.mark.parametrize("change", [dict.clear, lambda files: files.pop("secret_key")])
def test_members_and_manifest_name_the_same(
    change: Callable[[dict[str, object]], object], members: Members, empty: Path, tmp_path: Path
) -> None:
    files = manifest_of(members)["files"]
    change(files)
    assert "is not what the manifest says" in refused(
        pack(tmp_path / "b.tar.zst", members, files=files), empty
    )


@pytest.mark.parametrize(
    "member",
    [
        odd("../outside"),
        odd("/tmp/outside"),
        odd("releases/../../outside"),
        odd("releases//twice"),
        odd("./releases/dot"),
        odd("releases/link", tarfile.SYMTYPE, linkname="/etc/passwd"),
        odd("releases/hard", tarfile.LNKTYPE, linkname="secret_key"),
        odd("releases/device", tarfile.CHRTYPE, devmajor=1, devminor=3),
        odd("releases/pipe", tarfile.FIFOTYPE),
        odd("releases/folder", tarfile.DIRTYPE),
    ],
    ids=lambda member: member.name,
)
def test_what_leads_out_of_the_folder_or_is_no_file_is_refused(
    member: tarfile.TarInfo, members: Members, empty: Path, tmp_path: Path
) -> None:
    path = pack(tmp_path / "b.tar.zst", members, member)
    assert refused(path, empty) == (
        f"{path} was not written by `quorum backup`: {member.name!r} is a link, a device, or leads "
        f"out of it. {NOTHING}"
    )
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("name", ["quorum.sqlite3", "static/x.js", "index", ".bashrc"])
def test_a_file_without_a_place_is_refused(
    name: str, members: Members, empty: Path, tmp_path: Path
) -> None:
    path = pack(tmp_path / "b.tar.zst", {**members, name: b"x"})
    assert f"{NO_BACKUP[10:]}: {name!r} has no place here. {NOTHING}" in refused(path, empty)


def test_a_name_that_comes_twice_is_refused(members: Members, empty: Path, tmp_path: Path) -> None:
    assert "'secret_key' is in it twice" in refused(
        pack(tmp_path / "b.tar.zst", members, odd("secret_key")), empty
    )


def test_a_bomb_is_unpacked_no_further_than_the_disk_has_room(
    members: Members, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "core.backup.restore.shutil.disk_usage", lambda _: type("Usage", (), {"free": 1_000_000})
    )
    path = pack(tmp_path / "b.tar.zst", members, odd("releases/zeros", size=100_000_000))
    assert path.stat().st_size < 100_000
    assert "unpacks to more than the disk of the data folder has free" in refused(path, empty)


def test_a_header_that_would_fill_the_memory_is_refused(
    members: Members, empty: Path, tmp_path: Path
) -> None:
    header = odd("x", tarfile.XHDTYPE, size=archive.MOST_AT_ONCE + 1)
    path = pack(tmp_path / "b.tar.zst", members, header)
    assert "is no backup, or it is damaged (a header is too large)" in refused(path, empty)


def test_a_time_that_is_no_number_is_refused(members: Members, empty: Path, tmp_path: Path) -> None:
    path = pack(tmp_path / "b.tar.zst", members, odd("releases/x", pax_headers={"mtime": "nan"}))
    assert "'releases/x' has no time" in refused(path, empty)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(
    share: float, members: Members, empty: Path, tmp_path: Path
) -> None:
    noise = b"".join(sha256(bytes([number])).digest() for number in range(200))
    path = pack(tmp_path / "b.tar.zst", {**members, "uploads/noise": noise})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    sentence = refused(path, empty)
    assert NOTHING in sentence
    assert "cut off" in sentence or "damaged" in sentence


def test_a_byte_that_was_changed_is_noticed(
    site: Path, open_site: OpenSite, tmp_path: Path
) -> None:
    quorum("backup", tmp_path / "b.tar.zst", "--quiet")
    empty = open_site(tmp_path / "new")
    whole = bytearray((tmp_path / "b.tar.zst").read_bytes())
    whole[len(whole) // 2] ^= 1
    (tmp_path / "b.tar.zst").write_bytes(whole)
    assert "damaged" in refused(tmp_path / "b.tar.zst", empty)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x28\xb5\x2f\xfd" + bytes(50)])
def test_what_is_no_archive_is_refused(content: bytes, empty: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.tar.zst"
    path.write_bytes(content)
    assert f"{path} is no backup, or it is damaged" in refused(path, empty)


def test_a_file_that_is_not_there_is_refused(empty: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.tar.zst"
    assert refused(path, empty) == f"There is no file {path}: check the path."


@pytest.mark.parametrize("manifest", ["[]", "{}", "no", '{"format": "quorum-release"}', "[" * 9999])
def test_an_archive_of_another_program_is_refused(
    manifest: str, empty: Path, tmp_path: Path
) -> None:
    path = tmp_path / "b.tar.zst"
    with (
        path.open("wb") as file,
        zstandard.ZstdCompressor().stream_writer(file) as packed,
        tarfile.open(fileobj=packed, mode="w|") as tar,
    ):
        add(tar, "manifest.json", manifest.encode())
    assert "its manifest is of another program" in refused(path, empty)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"format_version": 2}, "is a backup of format 2, and this version reads format 1"),
        ({"database": {"vendor": "postgresql", "migrations": []}}, "holds a database of 'postgres"),
        ({"database": {"vendor": "sqlite"}}, "does not say which tables it holds"),
        ({"database": {"vendor": "sqlite", "migrations": [1]}}, "does not say which tables"),
        ({"database": []}, "its manifest is incomplete"),
        ({"files": []}, "its manifest is incomplete"),
        (
            {
                "quorum": "9.9",
                "database": {"vendor": "sqlite", "migrations": [["annotation", "0099_more"]]},
            },
            "was made by a newer Quorum (9.9), whose tables this one does not know "
            "(annotation.0099_more): install that version first.",
        ),
    ],
)
def test_what_does_not_fit_here_is_refused(
    facts: dict[str, object], why: str, members: Members, empty: Path, tmp_path: Path
) -> None:
    sentence = refused(pack(tmp_path / "b.tar.zst", members, **facts), empty)
    assert why in sentence
    assert NOTHING in sentence


def test_a_backup_without_a_database_is_refused(
    members: Members, empty: Path, tmp_path: Path
) -> None:
    del members["database.sqlite3"]
    assert "it lacks database.sqlite3" in refused(pack(tmp_path / "b.tar.zst", members), empty)


def test_files_of_another_place_need_that_place_here(
    members: Members, empty: Path, tmp_path: Path
) -> None:
    path = pack(tmp_path / "b.tar.zst", {**members, "vectors/shard": b"x"})
    assert "holds files of QUORUM_VECTORS, which names no folder here" in refused(path, empty)


def test_a_database_that_is_not_empty_is_left_alone(site: Path, tmp_path: Path) -> None:
    quorum("backup", tmp_path / "b.tar.zst", "--quiet")
    before = (site / "quorum.sqlite3").read_bytes()
    tables = len(connection.introspection.table_names())
    with pytest.raises(CommandError) as refusal:
        quorum("restore", tmp_path / "b.tar.zst", "--quiet")
    assert str(refusal.value) == (
        f"The database {site / 'quorum.sqlite3'} has {tables} tables already, and a backup is "
        "restored into an empty one: name another one, or move this one away. Nothing was restored."
    )
    assert (site / "quorum.sqlite3").read_bytes() == before


@pytest.mark.parametrize("name", ["releases/faq", "index/.lock", "mturk_emulator.sqlite3"])
def test_a_data_folder_that_is_not_empty_is_left_alone(
    name: str, members: Members, empty: Path, tmp_path: Path
) -> None:
    (empty / name).parent.mkdir(exist_ok=True)
    (empty / name).write_text("mine")
    with pytest.raises(CommandError) as refusal:
        quorum("restore", pack(tmp_path / "b.tar.zst", members), "--quiet")
    assert str(refusal.value) == (
        f"{empty / name} is there already, and a backup is restored into empty folders: name "
        "another folder by QUORUM_DATA, or move what is there away. Nothing was restored."
    )
    assert (empty / name).read_text() == "mine"
    assert connection.introspection.table_names() == []
