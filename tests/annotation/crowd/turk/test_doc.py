"""docs/turk.md: its example runs as it stands, and it names what the server does not do."""

import re
from pathlib import Path

import boto3
import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.emulator.operations import hits
from annotation.crowd.emulator.question import document
from annotation.crowd.emulator.validation import service_model
from annotation.crowd.turk.accounts import create_account

ROOT = Path(__file__).resolve().parents[4]
TEXT = (ROOT / "docs/turk.md").read_text(encoding="utf-8")
SERVER = [ROOT / "annotation/crowd/emulator", ROOT / "annotation/crowd/turk"]


def test_the_example_runs_as_it_stands(
    live_server: LiveServer,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The session that other tests have begun keeps the keys that it found first.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    settings.DATA_DIR = tmp_path
    account = create_account("lab")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", account.secret_access_key)
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", f"{live_server.url}/turk/sandbox/")
    [example] = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    exec(compile(example, "docs/turk.md", "exec"), {})
    assert capsys.readouterr().out == "Assignable 9999.70\n"


def test_every_parameter_is_read_or_is_named_among_the_differences() -> None:
    """Of all 39 operations, and what questions cannot have."""
    source = "".join(path.read_text() for folder in SERVER for path in folder.rglob("*.py"))
    said = set(re.findall(r"\w+", TEXT.partition("## Differences")[2]))
    model = service_model()
    unread = {
        name
        for operation in model.operation_names
        for name in getattr(model.operation_model(operation).input_shape, "members", {})
        if f'"{name}"' not in source and not {name, operation} & said
    }
    assert unread == set()
    assert {*hits.UNSUPPORTED, *document.UNSUPPORTED} <= said
