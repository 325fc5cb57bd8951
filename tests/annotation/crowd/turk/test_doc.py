"""The example of docs/turk.md runs as it stands."""

import re
from pathlib import Path

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.turk.accounts import create_account

TEXT = (Path(__file__).resolve().parents[4] / "docs/turk.md").read_text(encoding="utf-8")


def test_the_example_runs_as_it_stands(
    live_server: LiveServer,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.DATA_DIR = tmp_path
    account = create_account("lab")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", account.secret_access_key)
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", f"{live_server.url}/turk/sandbox/")
    [example] = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    exec(compile(example, "docs/turk.md", "exec"), {})
    assert capsys.readouterr().out == "Assignable 9999.70\n"
