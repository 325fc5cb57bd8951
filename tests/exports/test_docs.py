"""docs/releases.md and the commands on runs say the same."""

from pathlib import Path

import pytest
from django.core.management import load_command_class

from tests.retrieval.management.test_docs import OF_EVERY_COMMAND

TEXT = Path("docs/releases.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["evaluate", "score", "compare"])
def test_the_page_names_every_option_of_the_commands(name: str) -> None:
    parser = load_command_class("exports", name).create_parser("manage.py", name)
    options = {option for action in parser._actions for option in action.option_strings}
    ours = {option for option in options if option.startswith("--")} - OF_EVERY_COMMAND
    assert len(ours) >= 4
    assert f"manage.py {name} " in TEXT
    assert [option for option in sorted(ours) if f"{option} " not in TEXT.replace("`", " ")] == []
