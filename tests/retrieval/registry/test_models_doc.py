"""docs/models.md and the command say the same."""

import re
from pathlib import Path

TEXT = Path("docs/models.md").read_text(encoding="utf-8")


def test_the_addresses_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"/api/v1/\S+?(?=`)", TEXT))
    assert named == {"/api/v1/models", "/api/v1/models/{name}", "/api/v1/jobs/index"}
    assert Path("docs/answering.md").is_file()
