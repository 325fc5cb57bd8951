import argparse
import errno
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from safetensors import SafetensorError

from core.command import QuorumCommand, add_subcommand, table
from core.errors import UserError


class Greet(QuorumCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        hello = add_subcommand(verbs, "hello", "says hello")
        hello.add_argument("name")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        with self.progress(3, "Greeting") as bar:
            bar.update(3)
        if options["name"] == "eve":
            raise UserError("Nobody greets eve: greet somebody else.")
        return {"greeted": options["name"], "times_greeted": 1234, "reply": None, "kind": True}


class Failing(QuorumCommand):
    error: BaseException = OperationalError("no such table: retrieval_qapair")

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        raise self.error


def run(*arguments: str) -> int:
    """As `manage.py greet ...` would; returns the exit status."""
    try:
        Greet().run_from_argv(["manage.py", "greet", *arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.mark.parametrize("arguments", [["hello", "ada", "--json"], ["--json", "hello", "ada"]])
def test_json_is_one_line_without_a_progress_bar(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(*arguments) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "greeted": "ada",
        "times_greeted": 1234,
        "reply": None,
        "kind": True,
    }
    assert (out.count("\n"), err) == (1, "")


def test_people_get_aligned_lines_and_a_bar_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("hello", "ada") == 0
    out, err = capsys.readouterr()
    assert out == "greeted        ada\ntimes greeted  1,234\nkind           yes\n"
    assert "Greeting: 100%" in err


def test_quiet_leaves_out_the_bar_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("hello", "ada", "--quiet") == 0
    out, err = capsys.readouterr()
    assert (out.count("ada"), err) == (1, "")


def test_a_refusal_is_one_sentence_and_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("hello", "eve", "--json") == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "Error: Nobody greets eve: greet somebody else.\n")


def test_a_wrong_argument_is_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("goodbye") == 2
    assert "invalid choice: 'goodbye'" in capsys.readouterr().err


def test_call_command_raises_what_the_shell_would_print() -> None:
    with pytest.raises(CommandError, match="Nobody greets eve") as refused:
        call_command(Greet(), "hello", "eve", json=True)
    assert refused.value.returncode == 2


def test_a_database_of_an_older_version_is_told_apart_from_other_failures(db: None) -> None:
    with pytest.raises(OperationalError):
        call_command(Failing())
    MigrationRecorder(connection).migration_qs.filter(app="retrieval").delete()
    with pytest.raises(CommandError, match=r"run `manage.py migrate` first"):
        call_command(Failing())


@pytest.mark.parametrize(
    ("error", "message", "status"),
    [
        (OperationalError("database is locked"), "The database is busy with another command", 2),
        (KeyboardInterrupt(), "Stopped: run the same command again to go on", 130),
    ],
)
def test_a_busy_database_and_a_key_press_end_in_one_sentence(
    db: None, error: BaseException, message: str, status: int
) -> None:
    command = Failing()
    command.error = error
    with pytest.raises(CommandError, match=message) as refused:
        call_command(command)
    assert refused.value.returncode == status


class Filling(QuorumCommand):
    """Writes more than its database has room for."""

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        full = sqlite3.connect(":memory:")
        full.execute("PRAGMA max_page_count = 3")
        full.execute("CREATE TABLE texts (text)")
        try:
            full.execute("INSERT INTO texts VALUES (?)", ["x" * 100_000])
        except sqlite3.OperationalError as error:
            raise OperationalError(*error.args) from error  # as Django does
        raise AssertionError("there was room")


@pytest.mark.parametrize("connected", [True, False])
def test_a_database_without_room_is_one_sentence(
    db: None, connected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not connected:
        unreached = SimpleNamespace(connection=None, vendor="sqlite")
        monkeypatch.setattr("core.command.connection", unreached)
    with pytest.raises(CommandError, match=r"^The disk of the database is full: make") as refused:
        call_command(Filling())
    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OperationalError("disk I/O error"),
            "The disk of the database is full or broken: make room and run the command again; "
            "nothing was half-written.",
        ),
        (
            OperationalError('could not extend file "base/1/2": No space left on device'),
            "The disk of the database is full: make room and run the command again; "
            "nothing was half-written.",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "/data/vectors.npy"),
            "The disk is full (/data/vectors.npy): make room and run the command again.",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "The disk is full: make room and run the command again.",
        ),
        (  # of a model's weights
            SafetensorError("Error while serializing: I/O error: No space left on device"),
            "The disk is full: make room and run the command again.",
        ),
    ],
)
def test_a_full_disk_is_one_sentence(error: Exception, sentence: str) -> None:
    command = Failing()
    command.error = error
    with pytest.raises(CommandError) as refused:
        call_command(command)
    assert (str(refused.value), refused.value.returncode) == (sentence, 2)


@pytest.mark.parametrize(
    "number",
    [
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    ],
    ids=os.strerror,
)
def test_a_path_that_cannot_be_used_is_one_sentence_that_names_it(number: int) -> None:
    command = Failing()
    command.error = OSError(number, os.strerror(number), "/data/my.run")
    with pytest.raises(CommandError) as refused:
        call_command(command)
    assert str(refused.value) == (
        f"/data/my.run cannot be used ({os.strerror(number)}): name another path, or see whose "
        "it is."
    )
    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    "error",
    [PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EIO, "I/O error", "/data")],
)
def test_another_fault_of_the_system_is_not_taken_for_a_wrong_path(error: OSError) -> None:
    command = Failing()
    command.error = error
    with pytest.raises(OSError, match=str(error.strerror)):
        call_command(command)


def test_a_database_that_cannot_be_reached_is_exit_status_2(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "QUORUM_DATA": str(tmp_path),
        "QUORUM_DATABASE_URL": "postgresql://ada:secret@127.0.0.1:9/nowhere",
    }
    command = [sys.executable, "manage.py", "index", "--json"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: The database cannot be reached (")
    assert "check QUORUM_DATABASE_URL, or start it (`make services`).\n" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


def test_a_command_must_say_what_it_does() -> None:
    with pytest.raises(NotImplementedError):
        QuorumCommand().run()


def test_the_help_names_the_shared_options() -> None:
    parser = Greet().create_parser("manage.py", "greet")
    assert isinstance(parser, argparse.ArgumentParser)
    assert "--json" in parser.format_help()


def test_a_hostile_text_cannot_move_the_cursor() -> None:
    assert table({"worker": "\x1b[2Jé\r\u202e"}) == "worker  ?[2Jé??"


def test_an_empty_result_is_an_empty_table() -> None:
    assert table({}) == ""
