"""docs/retrieval.md and the commands say the same."""

from pathlib import Path

import pytest
from django.core.management import load_command_class

TEXT = Path("docs/retrieval.md").read_text(encoding="utf-8")
OF_EVERY_COMMAND = {
    *("--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--no-color", "--force-color", "--skip-checks", "--json", "--quiet"),
}


@pytest.mark.parametrize("name", ["index", "search", "withdraw"])
def test_the_page_names_every_option_of_the_commands(name: str) -> None:
    parser = load_command_class("retrieval", name).create_parser("manage.py", name)
    options = {option for action in parser._actions for option in action.option_strings}
    ours = {option for option in options if option.startswith("--")} - OF_EVERY_COMMAND
    assert len(ours) >= 2
    assert f"manage.py {name}" in TEXT
    assert [option for option in sorted(ours) if f"{option} " not in TEXT.replace("`", " ")] == []


def test_every_file_that_the_page_names_exists() -> None:
    named = {word.strip("`(),.;:") for word in TEXT.split() if word.startswith("`retrieval/")}
    assert named
    assert [name for name in sorted(named) if not Path(name).is_file()] == []
