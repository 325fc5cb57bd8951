"""docs/answering.md and the commands say the same."""

from pathlib import Path

import pytest
from django.core.management import load_command_class

from retrieval.answering.ablations import PAPER
from retrieval.answering.answer_match import PROXY
from tests.retrieval.management.test_docs import OF_EVERY_COMMAND

TEXT = Path("docs/answering.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["ask", "evaluate_answers"])
def test_the_page_names_every_option_of_the_commands(name: str) -> None:
    parser = load_command_class("retrieval", name).create_parser("manage.py", name)
    options = {option for action in parser._actions for option in action.option_strings}
    ours = {option for option in options if option.startswith("--")} - OF_EVERY_COMMAND
    assert f"manage.py {name}" in TEXT
    assert [option for option in sorted(ours) if f"{option} " not in TEXT.replace("`", " ")] == []


def test_the_page_names_the_proxy_and_the_paper_s_figures() -> None:
    assert PROXY in " ".join(TEXT.split())
    for figures in PAPER.values():
        assert " | ".join(f"{figure:.1f}" for figure in figures) in TEXT
