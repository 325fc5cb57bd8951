"""The program: it serves on loopback, outlives a kill, and says in one sentence what is wrong."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from annotation.crowd.prolific.emulator.__main__ import main
from tests.annotation.crowd.prolific.world import STUDY, client_at

ROOT = Path(__file__).resolve().parents[5]
MODULE = [sys.executable, "-m", "annotation.crowd.prolific.emulator"]


@contextmanager
def program(state: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [*MODULE, "--port", "0", "--state", str(state), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"prolific emulator listening on (http://127\.0\.0\.1:\d+)\n", line)
    assert found is not None, line
    try:
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def test_the_state_outlives_a_kill(tmp_path: Path) -> None:
    state = tmp_path / "state.sqlite3"
    with program(state, "--balance", "1000", "--token", "abc") as (process, url):
        with client_at(url, "abc") as client:
            study_id = client.studies.create(STUDY).study_id
            client.studies.transition(study_id, "PUBLISH")
        process.kill()
        process.wait(10)
    with program(state, "--reading", "publishing_seconds=0") as (process, url):
        with client_at(url) as client:
            assert client.studies.get(study_id).status in ("PUBLISHING", "ACTIVE")
            workspace = next(client.workspaces.list())
            assert client.workspaces.balance(workspace.workspace_id).available_cents == 733
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--faults", "2", "share from 0 to 1"),
        ("--balance", "-1", "whole number"),
        ("--reading", "undo=maybe", "undo is one of true, false"),
        ("--reading", "x=1", "names none of the readings"),
    ],
)
def test_an_option_out_of_range_is_refused_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, sentence: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--state", str(tmp_path / "x"), "--port", "0", f"{option}={value}"])
    message = capsys.readouterr().err.splitlines()[-1]
    assert end.value.code == 2
    assert f"argument {option}: " in message
    assert sentence in message


def test_a_file_that_is_no_state_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("some notes, and quite a few of them")
    assert main(["--state", str(notes), "--port", "0"]) == 2
    assert "name another file" in capsys.readouterr().err
    assert notes.read_text() == "some notes, and quite a few of them"


def test_it_runs_without_django_and_without_the_rest_of_quorum() -> None:
    script = (
        "import sys, annotation.crowd.prolific.emulator.__main__\n"
        "ours = {'retrieval', 'exports', 'config', 'core', 'annotation.models'}\n"
        "print(sorted(name for name in sys.modules if name == 'django' or name in ours))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
