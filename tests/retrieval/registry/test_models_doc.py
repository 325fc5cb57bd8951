"""docs/models.md and the command say the same."""

import re
from pathlib import Path

from django.core.management import load_command_class

TEXT = Path("docs/models.md").read_text(encoding="utf-8")


def test_the_page_names_every_step_of_the_command() -> None:
    parser = load_command_class("retrieval", "models").create_parser("manage.py", "models")
    [steps] = [set(action.choices) for action in parser._actions if action.dest == "step"]  # type: ignore[arg-type]
    assert steps == set(re.findall(r"^\| `(\w+)", TEXT, flags=re.MULTILINE)) - {"manage"}


def test_the_addresses_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"/api/v1/\S+?(?=`)", TEXT))
    assert named == {"/api/v1/models", "/api/v1/models/{name}", "/api/v1/jobs/index"}
    assert Path("docs/answering.md").is_file()
