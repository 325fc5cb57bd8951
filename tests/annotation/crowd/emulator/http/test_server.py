import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from django.core.management import CommandError

from annotation.crowd.emulator.__main__ import main
from annotation.crowd.wire.faults import Faults
from tests.annotation.crowd.emulator.conftest import running
from tests.annotation.crowd.emulator.turk import SESSION, Clock, Turk
from tests.support.command_line import quorum

ROOT = Path(__file__).resolve().parents[5]
MODULE = [sys.executable, "-m", "annotation.crowd.emulator"]
COMMAND = [sys.executable, "-m", "config.commands", "crowd", "emulator"]
ADULT = "00000000000000000060"


@contextmanager
def program(
    command: Sequence[str], state: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[str], Turk, str]]:
    """The running program, its user, and the line that it printed at its start."""
    process = subprocess.Popen(
        [*command, "--port", "0", "--state", str(state), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"QUORUM_DATA": str(state.parent)},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert found is not None
    turk = Turk(found[0], state, Clock(), SESSION.client("mturk", endpoint_url=found[0]))
    try:
        yield process, turk, line
    finally:
        turk.close()
        process.kill()
        process.communicate()


def test_it_says_where_it_listens_and_stops_when_told(tmp_path: Path) -> None:
    with program(MODULE, tmp_path / "state.sqlite3", "--balance", "500") as (process, turk, line):
        assert line == f"mturk emulator listening on {turk.url}\n"
        assert turk.balance() == ("5.00", "0.00")
        turk.worker("AADA")  # leaves a connection open
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_the_state_outlives_the_program(tmp_path: Path, ending: signal.Signals) -> None:
    state = tmp_path / "state.sqlite3"
    with program(MODULE, state, "--balance", "1000") as (process, turk, _):
        hit_id = turk.hit(max_assignments=3, UniqueRequestToken="once")
        submitted = turk.worker("AADA").do(hit_id)
        pending = turk.worker("ABOB").take(hit_id)
        token = turk.api.list_qualification_types(MustBeRequestable=False, MaxResults=1)
        process.send_signal(ending)
        process.wait(10)
    with program(MODULE, state, "--balance", "7") as (process, turk, _):
        assert turk.counts(hit_id) == ("Assignable", 1, 1, 0)
        assert turk.balance() == ("9.46", "0.54")
        assert [each["AssignmentId"] for each in turk.assignments(hit_id)] == [submitted]
        assert turk.worker("ABOB").submit(pending).status_code == 200
        with pytest.raises(turk.api.exceptions.RequestError, match=hit_id):
            turk.hit(UniqueRequestToken="once")
        following = turk.api.list_qualification_types(
            MustBeRequestable=False, NextToken=token["NextToken"]
        )
        assert following["NumResults"] == 5


@pytest.mark.parametrize(
    ("options", "expected"),
    [([], "mturk emulator listening on URL\n"), (["--json"], '{"url": "URL"}\n')],
)
def test_the_management_command_serves_too(
    tmp_path: Path, options: list[str], expected: str
) -> None:
    state = tmp_path / "state.sqlite3"
    with program(COMMAND, state, "--balance", "500", *options) as (process, turk, line):
        assert line.replace(turk.url, "URL") == expected
        assert turk.balance() == ("5.00", "0.00")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def refused(*options: str) -> str:
    """What the program says when it cannot start: one sentence, exit status 2."""
    done = subprocess.run(
        [*MODULE, *options], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_port_in_use_is_said_in_one_sentence(turk: Turk, tmp_path: Path) -> None:
    port = turk.url.rsplit(":", 1)[1]
    message = refused("--port", port, "--state", str(tmp_path / "other.sqlite3"))
    assert port in message
    assert "choose another port" in message
    assert not (tmp_path / "other.sqlite3").exists()


OUT_OF_RANGE = [
    ("--balance", "-5"), ("--balance", "1e3"), ("--port", "-1"), ("--port", "65536"),
    ("--faults", "1.5"), ("--faults", "-0.1"), ("--faults", "nan"), ("--faults", "often"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), OUT_OF_RANGE)
def test_a_number_out_of_range_is_refused_by_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    state = tmp_path / "state.sqlite3"
    with pytest.raises(SystemExit) as end:
        main(["--state", str(state), "--port", "0", f"{option}={value}"])
    said = capsys.readouterr()
    assert (end.value.code, said.out) == (2, "")
    range_ = "share from 0 to 1" if option == "--faults" else "whole number from 0 to "
    report = f"error: argument {option}: '{value}' is not a {range_}"
    assert report in said.err.splitlines()[-1]
    assert not state.exists()


@pytest.mark.parametrize(("option", "value"), OUT_OF_RANGE)
def test_the_command_refuses_it_too(tmp_path: Path, option: str, value: str) -> None:
    state = tmp_path / "state.sqlite3"
    with pytest.raises(CommandError, match=f"'{option}'.*{value}") as refusal:
        quorum("crowd", "emulator", "--state", state, "--port", "0", f"{option}={value}")
    assert refusal.value.returncode == 2
    assert not state.exists()


def test_a_file_that_is_not_our_state_is_left_alone(tmp_path: Path) -> None:
    text, database = tmp_path / "notes.txt", tmp_path / "other.sqlite3"
    text.write_text("some notes, and quite a few of them")
    db = sqlite3.connect(database)
    db.execute("CREATE TABLE precious (x)")
    db.close()
    before = text.read_bytes(), database.read_bytes()
    for path in (text, database, tmp_path):
        assert "name another file" in refused("--port", "0", "--state", str(path))
    assert (text.read_bytes(), database.read_bytes()) == before


@pytest.mark.parametrize("command", [MODULE, COMMAND])
def test_the_program_injects_the_faults_of_its_seed(tmp_path: Path, command: list[str]) -> None:
    state = tmp_path / "state.sqlite3"
    with program(command, state, "--faults", "1", "--fault-seed", "7") as (_, turk, _line):
        expected = Faults(1.0, 7).of_call()
        with suppress(httpx.RemoteProtocolError):
            turk.raw("GetAccountBalance")
        (row,) = turk.rows("SELECT kind, operation FROM faults")
    assert expected is not None
    assert tuple(row) == (expected.kind, "GetAccountBalance")


def test_it_runs_without_django_and_without_the_rest_of_quorum() -> None:
    script = (
        "import sys, annotation.crowd.emulator.__main__\n"
        "ours = {'retrieval', 'exports', 'config', 'annotation.models', 'annotation.protocol'}\n"
        "print(sorted(name for name in sys.modules if name == 'django' or name in ours))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_file_of_an_earlier_version_gets_what_it_lacks(tmp_path: Path) -> None:
    state = tmp_path / "state.sqlite3"
    with running(state):
        pass
    with closing(sqlite3.connect(state)) as db:
        db.execute("DROP TABLE batch_rows")
        db.execute(f"DELETE FROM qualification_types WHERE qualification_type_id = '{ADULT}'")
        db.commit()
    for _ in range(2):
        with running(state) as turk:
            shown = turk.api.get_qualification_type(QualificationTypeId=ADULT)["QualificationType"]
            assert (shown["Name"], shown["AutoGranted"]) == ("Worker_Adult", True)
            assert turk.rows("SELECT * FROM batch_rows") == []
