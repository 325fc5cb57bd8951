"""What the docs point to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks/README.md"]
OURS = r"annotation|config|core|demo|docs|exports|recipes|retrieval|templates|tests|benchmarks"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_path_and_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(rf"`((?:{OURS})/[\w/]+(?:\.\w+)?)`", text)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    gone = [path for path in paths if not (ROOT / path).exists()]
    gone += [link for link in links if not (page.parent / link).exists()]
    assert gone == []


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    assert [page.name for page in ROOT.glob("docs/*.md") if f"({page.name})" not in index] == [
        "README.md"
    ]
