"""docs/retrieval.md and the commands say the same."""

from pathlib import Path

TEXT = Path("docs/retrieval.md").read_text(encoding="utf-8")


def test_every_file_that_the_page_names_exists() -> None:
    named = {word.strip("`(),.;:") for word in TEXT.split() if word.startswith("`retrieval/")}
    assert named
    assert [name for name in sorted(named) if not Path(name).is_file()] == []
