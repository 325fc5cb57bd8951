"""The commands as processes: what a script sees of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo.processes import without_outside

ROOT = Path(__file__).parents[3]
NOBODY = "http://127.0.0.1:9"  # nothing listens there


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a packed campaign, as another process finds it."""
    folder = tmp_path_factory.mktemp("data")
    script = (
        "import django; django.setup()\n"
        "from pathlib import Path\n"
        "from django.core.management import call_command\n"
        "from tests.worlds.small_campaign import fill_database, packed_campaign\n"
        "call_command('migrate', verbosity=0)\n"
        f"fill_database(Path({str(folder)!r})); packed_campaign(Path({str(folder)!r}))\n"
    )
    environment = without_outside(os.environ) | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "QUORUM_DATA": str(folder),
    }
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, check=True)
    return folder


def quorum(folder: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = without_outside(os.environ) | {"QUORUM_DATA": str(folder)} | variables
    return subprocess.run(
        [sys.executable, "-m", "config.commands", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_reads_json_and_nothing_else_on_standard_output(data: Path) -> None:
    done = quorum(data, "campaign", "status", "faq", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout)["triplets"] == 25


def test_logs_go_to_standard_error(data: Path) -> None:
    noisy = {"QUORUM_LOG_LEVEL": "DEBUG", "AWS_ENDPOINT_URL_MTURK": NOBODY}
    done = quorum(data, "campaign", "publish", "faq", "--json", **noisy)
    assert (done.returncode, done.stdout) == (2, "")
    assert "DEBUG botocore" in done.stderr
    assert f"MTurk cannot be reached at {NOBODY}" in done.stderr


def test_a_script_sees_a_refusal_by_the_exit_status(data: Path) -> None:
    done = quorum(data, "campaign", "status", "fag", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no campaign 'fag'; there are: faq." in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_empty_data_folder_is_refused(tmp_path: Path) -> None:
    done = quorum(tmp_path, "campaign", "status", "faq")
    assert done.returncode == 2
    assert f"run `python {ROOT}/manage.py migrate`, or set" in done.stderr
