import errno
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from safetensors import SafetensorError

from core.command import Noun, Result, progress, run
from core.errors import UserError
from core.output import Facts
from tests.support.command_line import show_bars

greet = Noun("Greetings.")


@greet.verb("hello")
def hello(name: str) -> Result:
    """Say hello."""
    with progress(3, "Greeting") as bar:
        if name == "eve":
            raise UserError("Nobody greets eve: greet somebody else.")
        bar.update(3)
    return {"greeted": name, "times_greeted": 1234, "reply": None, "kind": True}


@greet.verb("check", fault=lambda result: "Something is wrong." if result["wrong"] else None)
def check(wrong: bool = False) -> Result:
    return {"wrong": wrong}


def call(*words: str) -> None:
    run(typer.main.get_command(greet), words, program="quorum greet")


def fail(error: BaseException) -> None:
    """As a command does whose verb raises this."""
    failing = Noun(alone=True)

    @failing.verb("fail")
    def failing_verb() -> Result:
        raise error

    run(typer.main.get_command(failing), [], program="quorum fail")


def test_json_is_one_line_without_a_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    call("hello", "ada", "--json")
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "greeted": "ada",
        "times_greeted": 1234,
        "reply": None,
        "kind": True,
    }
    assert (out.count("\n"), err) == (1, "")


@pytest.mark.parametrize("terminal", [True, False])
def test_people_get_aligned_lines_and_on_a_terminal_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    show_bars(monkeypatch, terminal=terminal)
    call("hello", "ada")
    out, err = capsys.readouterr()
    assert out == "greeted        ada\ntimes greeted  1,234\nkind           yes\n"
    assert ("Greeting: 100%" in err) is terminal


def test_the_usage_names_arguments_as_the_docs_do(capsys: pytest.CaptureFixture[str]) -> None:
    call("hello", "--help")
    assert "Usage: quorum greet hello [OPTIONS] name\n" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["ada"], ["ada", "--quiet"]])
def test_what_is_done_at_once_shows_no_bar(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    call("hello", *words)
    out, err = capsys.readouterr()
    assert (out.count("ada"), err) == (1, "")


def test_a_refusal_is_one_sentence_and_exit_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call("hello", "eve")
    assert (str(refused.value), refused.value.returncode) == (
        "Nobody greets eve: greet somebody else.",
        2,
    )
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["goodbye"], "No such command 'goodbye'. See `quorum greet --help`."),
        (["hello"], "Missing argument 'name'. See `quorum greet hello --help`."),
        (["hello", "ada", "--loud"], "No such option: --loud. See `quorum greet hello --help`."),
        (
            ["hello", "-12.5"],
            "-12.5 is below zero: give a number of zero or more. See `quorum greet hello --help`.",
        ),
    ],
)
def test_a_wrong_argument_is_exit_status_2(words: list[str], sentence: str) -> None:
    with pytest.raises(CommandError) as refused:
        call(*words)
    assert (str(refused.value), refused.value.returncode) == (sentence, 2)


def test_a_noun_by_itself_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        call()
    assert end.value.code == 2
    assert "Say hello" in capsys.readouterr().out


def test_a_fault_is_told_after_the_whole_report(capsys: pytest.CaptureFixture[str]) -> None:
    call("check")
    with pytest.raises(CommandError, match="Something is wrong") as refused:
        call("check", "--wrong", "--json")
    assert refused.value.returncode == 2
    assert capsys.readouterr().out == 'wrong  no\n{"wrong": true}\n'


def test_a_database_of_an_older_version_is_told_apart_from_other_failures(db: None) -> None:
    with pytest.raises(OperationalError):
        fail(OperationalError("no such table: retrieval_qapair"))
    MigrationRecorder(connection).migration_qs.filter(app="retrieval").delete()
    with pytest.raises(CommandError, match=r"run `python /\S+/manage.py migrate`, or set"):
        fail(OperationalError("no such table: retrieval_qapair"))


@pytest.mark.parametrize(
    ("error", "message", "status"),
    [
        (OperationalError("database is locked"), "The database is busy with another command", 2),
        (KeyboardInterrupt(), "Stopped: run the same command again to continue", 130),
    ],
)
def test_a_busy_database_and_a_key_press_end_in_one_sentence(
    db: None, error: BaseException, message: str, status: int
) -> None:
    with pytest.raises(CommandError, match=message) as refused:
        fail(error)
    assert refused.value.returncode == status


def full_database() -> OperationalError:
    """As of one that has no room for what is written."""
    full = sqlite3.connect(":memory:")
    full.execute("PRAGMA max_page_count = 3")
    full.execute("CREATE TABLE texts (text)")
    with pytest.raises(sqlite3.OperationalError) as refused:
        full.execute("INSERT INTO texts VALUES (?)", ["x" * 100_000])
    return OperationalError(*refused.value.args)  # as Django does


@pytest.mark.parametrize("connected", [True, False])
def test_a_database_without_room_is_one_sentence(
    db: None, connected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not connected:
        unreached = SimpleNamespace(connection=None, vendor="sqlite")
        monkeypatch.setattr("core.command.connection", unreached)
    with pytest.raises(CommandError, match=r"^The disk of the database is full: make") as refused:
        fail(full_database())
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
    with pytest.raises(CommandError) as refused:
        fail(error)
    assert (str(refused.value), refused.value.returncode) == (sentence, 2)


def test_too_little_memory_is_one_sentence() -> None:
    with pytest.raises(CommandError) as refused:
        fail(MemoryError())
    assert (str(refused.value), refused.value.returncode) == (
        "This needs more memory than there is, or than the process may have: give it more, or do "
        "it in smaller parts.",
        2,
    )


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
    error = OSError(number, os.strerror(number), "/data/my.run")
    with pytest.raises(CommandError) as refused:
        fail(error)
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
    with pytest.raises(OSError, match=str(error.strerror)):
        fail(error)


def test_a_database_that_cannot_be_reached_is_exit_status_2(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "QUORUM_DATA": str(tmp_path),
        "QUORUM_DATABASE_URL": "postgresql://ada:secret@127.0.0.1:9/nowhere",
    }
    command = [sys.executable, "-m", "config.commands", "index", "build", "--json"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: The database cannot be reached (")
    assert "check QUORUM_DATABASE_URL, or start it (`make services`).\n" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


def test_the_help_names_the_shared_options(capsys: pytest.CaptureFixture[str]) -> None:
    call("hello", "--help")
    shown = capsys.readouterr().out
    assert "--json" in shown
    assert "--verbosity" not in shown


def test_a_hostile_text_cannot_move_the_cursor() -> None:
    assert str(Facts({"worker": "\x1b[2Jé\r\u202e"})) == "worker  ?[2Jé??"


def test_an_empty_result_is_an_empty_table() -> None:
    assert str(Facts({})) == ""
