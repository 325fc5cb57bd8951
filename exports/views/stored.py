"""What the pages read out of a release's own files."""

from typing import Any

import orjson

from exports.models import Release, ReleaseFile
from exports.storage import open_file
from retrieval.errors import UserError

MOST_BYTES = 1 << 20  # of a text on a page


def read_text(release: Release, path: str) -> str | None:
    """None where the release has no such file."""
    try:
        with open_file(ReleaseFile(release=release, path=path)) as file:
            text: str = file.read(MOST_BYTES).decode("utf-8", "replace")
    except UserError:
        return None
    return text


def read_document(release: Release, path: str) -> dict[str, Any]:
    """Empty where it is missing or no document any more."""
    try:
        found = orjson.loads(read_text(release, path) or "{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
