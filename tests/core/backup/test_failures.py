"""A backup or a restore that fails, or is killed, leaves nothing half; the next one succeeds."""

import errno
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError

from config.settings import BASE_DIR
from core.backup import archive, contents
from core.backup.backup import back_up
from core.files.work_folder import unfinished
from demo.processes import without_outside
from tests.core.backup.conftest import OpenSite
from tests.support.command_line import quorum

KILLED = """
import os, signal, django
django.setup()
from pathlib import Path
from core.backup.backup import back_up
from core.backup.restore import restore

left = {left}
def tell(_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

{call}
"""
# Of the data folder: made again by itself, or of no use elsewhere.
LEFT_OUT = {
    "builds", "celerybeat-schedule", "dry-runs", "fetched", "incoming", "metrics", "queue",
    "static",
}  # fmt: skip
DATABASE = "quorum.sqlite3"  # by SQLite's or PostgreSQL's own way
OF_TESTS_AND_DRY_RUNS = {"queries.jsonl"}


def kill_in(folder: Path, call: str, *, after: int) -> None:
    """It calls `tell` now and then, and is killed by the call of that number."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(left=after, call=call)],
        cwd=BASE_DIR,
        env=without_outside(os.environ)
        | {"QUORUM_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


def refusal(*words: object) -> str:
    with pytest.raises(CommandError) as refused:
        quorum(*words, "--quiet")
    assert refused.value.returncode == 2
    return str(refused.value)


@pytest.mark.parametrize("after", [1, 3, 20])
def test_a_killed_backup_leaves_no_file_of_that_name(
    after: int, site: Path, tmp_path: Path
) -> None:
    out = tmp_path / "b.tar.zst"
    call = f"back_up(Path({str(out)!r}), overwrite=False, progress=tell)"
    kill_in(site, call, after=after)
    assert not out.exists()
    quorum("backup", out, "--quiet")
    assert [path.name for path in tmp_path.iterdir() if "b.tar.zst" in path.name] == ["b.tar.zst"]


def test_a_killed_restore_leaves_an_empty_site_to_restore_into(
    site: Path, open_site: OpenSite, tmp_path: Path
) -> None:
    backup, told = tmp_path / "b.tar.zst", []
    quorum("backup", backup, "--quiet")
    with backup.open("rb") as file:
        archive.checked(backup, file, room=10**9, progress=told.append)
    call = f"restore(Path({str(backup)!r}), progress=tell)"
    kill_in(tmp_path / "new", call, after=len(told) * 3 // 2)  # half-way through the second reading
    there = open_site(tmp_path / "new")
    assert list(there.glob(".restore.unfinished/*"))
    assert not [path for path in there.glob("releases/*") if not path.name.startswith(".")]
    quorum("restore", tmp_path / "b.tar.zst", "--quiet")
    assert not list(there.rglob("*.unfinished"))
    assert list(there.glob("releases/first-*/1-*/manifest.json"))


@pytest.mark.parametrize("reads", [1, 3, 60])
def test_a_full_disk_leaves_no_file_and_is_told_in_a_sentence(
    reads: int, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = reads
    read = archive._Hashed.read

    def fill(self: archive._Hashed, size: int) -> bytes:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device", "/backups")
        return read(self, size)

    monkeypatch.setattr(archive._Hashed, "read", fill)
    said = refusal("backup", tmp_path / "b.tar.zst")
    assert said == "The disk is full (/backups): make room and run the command again."
    assert not [path for path in tmp_path.iterdir() if "b.tar.zst" in path.name]


def test_a_disk_that_is_full_for_the_copy_of_the_database_is_told_the_same_way(
    site: Path, tmp_path: Path
) -> None:
    script = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
back_up(Path({str(tmp_path / "b.tar.zst")!r}), overwrite=False, progress=lambda _: None)
"""
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(left=0, call=script)],
        cwd=BASE_DIR,
        env=without_outside(os.environ)
        | {"QUORUM_DATA": str(site), "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"OSError: \[Errno 28\] No space left on device: '.*database.sqlite3'", (
        done.stderr
    ))  # fmt: skip
    assert not [path for path in tmp_path.iterdir() if "b.tar.zst" in path.name]


def test_a_full_disk_ends_a_restore_with_an_empty_site(
    site: Path, open_site: OpenSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quorum("backup", tmp_path / "b.tar.zst", "--quiet")
    there = open_site(tmp_path / "new")

    def fill(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/data")

    with monkeypatch.context() as patch:
        patch.setattr("core.backup.restore.os.fsync", fill)
        said = refusal("restore", tmp_path / "b.tar.zst")
    assert said == "The disk is full (/data): make room and run the command again."
    assert {path.name for path in there.rglob("*") if path.is_file()} <= {
        DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm",
    }  # fmt: skip
    quorum("restore", tmp_path / "b.tar.zst", "--quiet")


def test_a_file_that_is_there_is_replaced_by_wish_alone(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    out.write_text("mine")
    assert refusal("backup", out) == (
        f"{out} is there already: name another file, or add --overwrite."
    )
    assert out.read_text() == "mine"
    quorum("backup", out, "--overwrite", "--quiet")
    assert out.stat().st_size > 10_000


def test_a_failed_backup_leaves_the_last_one_alone(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "b.tar.zst"
    out.write_text("the last one")
    monkeypatch.setattr("core.backup.backup.left_out", list)
    with pytest.raises(ZeroDivisionError):
        back_up(out, overwrite=True, progress=lambda _: 1 // 0)
    assert out.read_text() == "the last one"


def test_two_backups_to_one_file_do_not_meet(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    with unfinished(out, purpose="backup to"):
        assert refusal("backup", out) == (
            f"Another backup to {out} is running: wait until it has ended."
        )


def test_a_folder_that_is_not_there_is_not_made(site: Path, tmp_path: Path) -> None:
    out = tmp_path / "typo" / "b.tar.zst"
    assert refusal("backup", out) == (
        f"There is no folder {out.parent}: make it, or name another one."
    )
    assert refusal("backup", tmp_path) == f"{tmp_path} is a folder: name a file in it."


def test_a_broken_database_is_told_in_a_sentence(site: Path, tmp_path: Path) -> None:
    (site / contents.EMULATOR).write_text("no database at all, but long enough to be one" * 100)
    said = refusal("backup", tmp_path / "b.tar.zst")
    assert said.startswith(f"The database {site / contents.EMULATOR} cannot be copied to")
    assert "file is not a database" in said


def test_an_interrupted_load_leaves_the_database_empty(site: Path, tmp_path: Path) -> None:
    """Of SQLite itself: what a copy has written before its last page is taken back."""
    script = f"""
import os, signal, sqlite3
source, target = sqlite3.connect({str(site / DATABASE)!r}), sqlite3.connect({str(tmp_path / "t")!r})
target.execute("PRAGMA journal_mode=WAL")
source.backup(target, pages=20, progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    with closing(sqlite3.connect(tmp_path / "t")) as target:
        assert target.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_backup_keeps_or_leaves_out_whatever_the_code_puts_into_the_data_folder() -> None:
    """Who adds a folder there decides which, and says so in docs/deployment.md."""
    named = set()
    for package in ("annotation", "config", "core", "exports", "retrieval"):
        for path in Path(BASE_DIR, package).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            named |= set(re.findall(r"""DATA_DIR\)? / f?["']([\w.-]+)["']""", source))
    kept = {contents.SECRET_KEY, contents.EMULATOR, "releases", *contents.IN_DATA_FOLDER}
    assert named == kept | LEFT_OUT | {DATABASE} | OF_TESTS_AND_DRY_RUNS


def test_the_progress_counts_every_byte(site: Path, tmp_path: Path) -> None:
    counted = []
    back_up(tmp_path / "b.tar.zst", overwrite=False, progress=counted.append)
    database = (site / DATABASE).stat().st_size
    assert sum(counted) > 2 * database
    assert min(counted) >= 0
