"""What the docs point to is there, and they promise nothing that is not."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/README.md"]
OURS = r"annotation|config|core|demo|docs|exports|recipes|retrieval|templates|tests|benchmarks"
# Amazon's marketplace is closed: no page and no doc promises it. Our Turk is the site's own.
READ = (
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "docs/**/*.md",
    "templates/**/*.html",
    "annotation/protocol/policy/*.py",
)
# Where people work, what people are of, or who does something.
PROMISE = re.compile(
    r"Amazon|\b(?:on|at|to|through) (?:Mechanical Turk|MTurk)\b(?! server|'s)"
    r"|[Ww]orkers of Mechanical Turk|production MTurk"
    r"|(?:Mechanical Turk|MTurk) (?:adds|approves|requires|takes)"
)
# What says that it is closed, what was there, or what is Amazon's own and elsewhere.
SAID = {
    "docs/crowds.md": ["Amazon closed Mechanical Turk on 30 September 2026."],
    "docs/guarantees.md": ["They never called Amazon's service."],
    "docs/moving-in.md": [
        "# Moving in Whoever has worked on Mechanical Turk or Turkle brings along what they kept of"
        " it."
    ],
    "docs/scale.md": [
        "A crowd of another host has a limit, as Amazon's 10 calls/s was"
        " (`QUORUM_CROWD_CALLS_PER_SECOND`, [settings](settings.md))."
    ],
    "docs/settings.md": ["Amazon's own is closed."],
    "docs/turk.md": [
        "Both name Amazon's address in their source, so there the address has to be replaced:",
        "Dallinger's recruiter also subscribes at Amazon's SNS, which is another service.",
        "- ` ` and its elements are a script of Amazon's, which workers' browsers load from the"
        " internet.",
    ],
}


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
    docs = ROOT / "docs"
    pages = [page.relative_to(docs).as_posix() for page in docs.glob("**/*.md")]
    assert [page for page in pages if f"({page})" not in index] == ["README.md"]


def sentences(path: Path) -> list[str]:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", path.read_text(encoding="utf-8")))
    return [one.strip() for one in re.split(r"(?<=[.:!?]) | \| ", text)]


def test_no_page_and_no_doc_promises_amazons_service() -> None:
    said = {
        str(path.relative_to(ROOT)): spoken
        for pattern in READ
        for path in sorted(ROOT.glob(pattern))
        if (spoken := [one for one in sentences(path) if PROMISE.search(one)])
    }
    assert said == SAID


def test_the_readme_begins_with_the_sites_own_turk_whose_page_shows_how() -> None:
    """tests/annotation/crowd/turk runs the example of that page, tests/services/life packages."""
    first = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[1]
    assert "[a self-hosted Mechanical Turk](docs/turk.md)" in first
