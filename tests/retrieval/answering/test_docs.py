"""docs/answering.md and the commands say the same."""

from pathlib import Path

from retrieval.answering.ablations import PAPER
from retrieval.answering.answer_match import PROXY

TEXT = Path("docs/answering.md").read_text(encoding="utf-8")


def test_the_page_names_the_proxy_and_the_paper_s_figures() -> None:
    assert PROXY in " ".join(TEXT.split())
    for figures in PAPER.values():
        assert " | ".join(f"{figure:.1f}" for figure in figures) in TEXT
