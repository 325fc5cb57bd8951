"""What a restored site has is what the site had, whatever went on meanwhile."""

import errno
import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from annotation.crowd.turk.accounts import create_account, figures_of
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.payments import deposit
from annotation.crowd.turk.stores import Environment, store_of
from annotation.models import Campaign, Entry
from annotation.pipeline.ledger.reservations import account_of, set_budget
from core.backup import databases
from core.backup.archive import members
from core.backup.backup import back_up
from core.backup.contents import files_in
from core.backup.restore import restore
from core.progress import no_progress
from exports.models import ReleaseFile
from retrieval.corpus.rejected_rows import Place, Rejects, rejects_path
from retrieval.corpus.uploads import new_folder
from retrieval.index.versions import current_index
from tests.annotation.pipeline.ledger.ledger_book import money
from tests.core.backup.conftest import OpenSite
from tests.support.command_line import quorum
from tests.worlds.older_site import Office
from tests.worlds.small_campaign import Stage


def rows(database: Path) -> list[str]:
    """All of it, as SQL."""
    with closing(sqlite3.connect(database)) as opened:
        return list(opened.iterdump())


def contents(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in files_in(folder)}


def restored(open_site: OpenSite, backup: Path, to: Path) -> Path:
    folder = open_site(to)
    restore(backup, progress=no_progress)
    return folder


def use_everything(site: Path) -> None:
    """A file of every kind that a backup keeps."""
    with closing(sqlite3.connect(site / "mturk_emulator.sqlite3")) as emulator:
        emulator.execute("CREATE TABLE hit (id TEXT)")
        emulator.commit()
    (new_folder() / "1.csv").write_text("question,answer\n")
    with Rejects(rejects_path(Path("pairs.csv"), "faq")) as rejects:
        rejects.add(Place(1, "?"), "there is no question")
    model = site / "models" / "mine" / "seed-1" / "model"
    model.mkdir(parents=True)
    (model / "weights.bin").write_bytes(b"weights")


def test_rows_and_files_are_the_same_in_the_restored_site(
    site: Path, open_site: OpenSite, tmp_path: Path
) -> None:
    use_everything(site)
    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    before = rows(site / "quorum.sqlite3")
    there = restored(open_site, tmp_path / "b.tar.zst", tmp_path / "new")
    assert rows(there / "quorum.sqlite3") == before
    for folder in ("index", "models", "rejects", "releases", "uploads"):
        assert contents(there / folder) == contents(site / folder) != {}
    assert rows(there / "mturk_emulator.sqlite3") == rows(site / "mturk_emulator.sqlite3") != []
    assert (there / "secret_key").read_text() == "the key"


def test_the_turk_s_records_are_taken_as_sqlite_holds_them(
    site: Path, open_site: OpenSite, tmp_path: Path
) -> None:
    """With what lies in a write-ahead log; and they are as private as before."""
    lab = create_account("lab")
    deposit(lab, 700)
    with store_of(lab, Environment.PRODUCTION).writing():
        back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    deposit(lab, 11)
    there = restored(open_site, tmp_path / "b.tar.zst", tmp_path / "new")
    assert figures_of(RequesterAccount.objects.get())["available_cents"] == 700
    assert stat.S_IMODE((there / "turk/lab/production.sqlite3").stat().st_mode) == 0o600


def test_the_restored_campaign_goes_on_to_its_end(
    site: Path, open_site: OpenSite, tmp_path: Path
) -> None:
    before = Stage(Campaign.objects.get(name="second"), None)
    account = money(before)
    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    restored(open_site, tmp_path / "b.tar.zst", tmp_path / "new")
    office = Office()
    office.reconcile()
    assert money(Stage(office.campaign, None)) == account
    office.finish()
    reserved, paid, discarded = money(Stage(office.campaign, None))
    assert (reserved, paid, discarded) == (0, 70, 7)


def test_what_others_make_again_is_left_out(site: Path, tmp_path: Path) -> None:
    for name in ("metrics/1.db", "queue/messages/1", "builds/x/1", "dry-runs/x/1", "incoming/1"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("again")
    (site / "index" / "stores" / "1.unfinished").write_text("half")
    (site / "index" / "elsewhere").symlink_to("/etc")
    (site / "index" / "link").symlink_to("/etc/passwd")
    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    names = member_names(tmp_path / "b.tar.zst")
    assert {name.partition("/")[0] for name in names} == {
        "database.sqlite3", "secret_key", "index", "releases", "manifest.json",
    }  # fmt: skip
    assert not [name for name in names if "link" in name or "unfin" in name or "lock" in name]


def test_a_backup_is_of_one_moment_while_others_write(
    site: Path, open_site: OpenSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "PAGES", 20)
    second = Campaign.objects.get(name="second")
    budget, entries = account_of(second).budget_cents, Entry.objects.count()
    writes = 0

    def write_more(_: int) -> None:
        nonlocal writes
        if writes < 40:
            writes += 1
            set_budget(second, budget + writes)

    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=write_more)
    assert writes == 40
    assert Entry.objects.count() == entries + 40
    there = restored(open_site, tmp_path / "b.tar.zst", tmp_path / "new")
    with closing(sqlite3.connect(there / "quorum.sqlite3")) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    money(Stage(second, None))  # the entries add up
    assert account_of(second).budget_cents == budget
    assert Entry.objects.count() == entries
    assert_named_files_are_there(there)


def test_releases_that_are_made_meanwhile_are_whole_or_unnamed(
    site: Path, open_site: OpenSite, tmp_path: Path
) -> None:
    """The files of each first, then its rows, as every build stores them."""
    release = ReleaseFile.objects.earliest("pk").release

    def make_release(_: int) -> None:
        release.pk, release.number = None, release.number + 1
        release.prefix = f"first/{release.number}"
        (site / "releases" / release.prefix).mkdir(parents=True)
        (site / "releases" / release.prefix / "dev.jsonl").write_text("{}")
        release.save(force_insert=True)
        ReleaseFile.objects.create(release=release, path="dev.jsonl", bytes=2, sha256="0" * 64)

    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=make_release)
    assert release.number > 10
    there = restored(open_site, tmp_path / "b.tar.zst", tmp_path / "new")
    assert_named_files_are_there(there)


def assert_named_files_are_there(folder: Path) -> None:
    current_index()  # verifies its files
    files = ReleaseFile.objects.select_related("release")
    assert files
    for file in files:
        path = folder / "releases" / file.release.prefix / file.path
        assert path.stat().st_size == file.bytes


def test_a_file_that_goes_or_is_replaced_meanwhile_breaks_no_backup(
    site: Path, tmp_path: Path
) -> None:
    upload = new_folder() / "1.csv"
    upload.write_text("question,answer\n")
    rejected = site / "rejects" / "a.jsonl"
    rejected.parent.mkdir()
    rejected.write_text("old\n")

    def meddle(_: int) -> None:
        upload.unlink(missing_ok=True)
        rejected.with_name("b").write_text("new and longer\n")
        rejected.with_name("b").replace(rejected)

    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=meddle)
    names = member_names(tmp_path / "b.tar.zst")
    assert "rejects/a.jsonl" in names
    assert not [name for name in names if name.startswith("uploads")]


def test_a_folder_that_cannot_be_read_is_not_passed_over(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def denied(path: str) -> object:
        if str(path).endswith("versions"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr("os.scandir", denied)
    with pytest.raises(PermissionError):
        back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    assert not (tmp_path / "b.tar.zst").exists()


def test_a_backup_may_be_called_as_one_of_its_members(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "database.sqlite3"
    back_up(out, overwrite=False, progress=no_progress)
    assert "database.sqlite3" in member_names(out)


def test_the_file_is_its_owners_alone(site: Path, tmp_path: Path) -> None:
    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=no_progress)
    assert stat.S_IMODE((tmp_path / "b.tar.zst").stat().st_mode) == 0o600


def test_a_backup_inside_the_data_folder_holds_no_other(site: Path, tmp_path: Path) -> None:
    inside = site / "releases" / "b.tar.zst"
    for _ in range(2):
        back_up(inside, overwrite=True, progress=no_progress)
    assert "releases/b.tar.zst" not in member_names(inside)


def test_a_backup_of_an_older_version_is_brought_up_to_this_one(
    older: Path, open_site: OpenSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum("backup", tmp_path / "b.tar.zst", "--quiet")
    open_site(tmp_path / "new")
    quorum("restore", tmp_path / "b.tar.zst", "--quiet")
    assert re.search(r"migrations added  [1-9]", capsys.readouterr().out)
    assert "annotation_savedview" in connection.introspection.table_names()


def test_the_commands_say_what_is_left_out_and_what_to_do_next(
    site: Path, open_site: OpenSite, tmp_path: Path, settings: Settings,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    on_s3 = {"OPTIONS": {"bucket_name": "quorum", "location": "vectors"}}
    settings.STORAGES = settings.STORAGES | {"vectors": on_s3}
    quorum("backup", tmp_path / "b.tar.zst", "--quiet")
    out = capsys.readouterr().out
    assert "QUORUM_VECTORS names s3://quorum/vectors: its files are not included" in out
    assert "QUORUM_SECRET_KEY is not included" in out
    open_site(tmp_path / "new")
    quorum("restore", tmp_path / "b.tar.zst", "--json")
    assert json.loads(capsys.readouterr().out)["migrations_added"] == 0
    open_site(tmp_path / "third")
    quorum("restore", tmp_path / "b.tar.zst", "--quiet")
    assert "run `quorum campaign reconcile --full`" in capsys.readouterr().out


def member_names(path: Path) -> list[str]:
    with path.open("rb") as file:
        return [member.name for member in members(path, file, no_progress)]
