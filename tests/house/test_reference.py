"""docs/commands.md and docs/settings.md say what the code says."""

import re
from pathlib import Path

from config.reference import PAGE, page

VARIABLE = re.compile(r"\b(?:QUORUM_[A-Z_]+|AWS_ENDPOINT_URL_MTURK)\b")


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    """If not, run `python -m config.reference`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_no_option_has_a_capital_letter() -> None:
    """A metavar that is the option's name in capitals has once become the name."""
    assert not re.findall(r"`--\S*[A-Z]\S*", page())


def test_the_page_of_settings_names_every_variable_and_no_other() -> None:
    rows = Path("docs/settings.md").read_text(encoding="utf-8").splitlines()
    named = {row.split("`")[1] for row in rows if row.startswith("| `")}
    read = {
        name
        for path in Path("config").glob("*.py")
        if path.name != "reference.py"
        for name in VARIABLE.findall(path.read_text(encoding="utf-8"))
    }
    assert named == read
