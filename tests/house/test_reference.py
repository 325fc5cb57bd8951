"""docs/commands.md and docs/settings.md say what the code says."""

import re
from pathlib import Path

from config.environment import VARIABLES
from config.reference import pages

VARIABLE = re.compile(r"\b(?:QUORUM_[A-Z_]+|AWS_ENDPOINT_URL_[A-Z0-9]+|PROMETHEUS_MULTIPROC_DIR)\b")


def test_both_pages_are_what_the_code_says() -> None:
    """If not, run `python -m config.reference`."""
    for path, content in pages().items():
        assert path.read_text(encoding="utf-8") == content


def test_no_option_has_a_capital_letter() -> None:
    """A metavar that is the option's name in capitals has once become the name."""
    assert not re.findall(r"`--\S*[A-Z]\S*", "".join(pages().values()))


def test_every_variable_is_read_and_no_other() -> None:
    read = {
        name
        for path in Path("config").glob("*.py")
        if path.name not in {"environment.py", "reference.py"}
        for name in VARIABLE.findall(path.read_text(encoding="utf-8"))
    }
    assert set(VARIABLES) == read
