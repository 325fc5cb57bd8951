"""What the pages read out of a release's own files."""

from typing import Any

import orjson

from core.errors import UserError
from exports.delivery.storage import read_start
from exports.models import Release, ReleaseFile

MOST_BYTES = 1 << 20  # of a text on a page


def read_text(release: Release, path: str) -> str | None:
    """None where the release has no such file."""
    try:
        start = read_start(ReleaseFile(release=release, path=path), MOST_BYTES)
    except UserError:
        return None
    return start.decode("utf-8", "replace")


def read_document(release: Release, path: str) -> dict[str, Any]:
    """Empty where it is missing or no document any more."""
    try:
        found = orjson.loads(read_text(release, path) or "{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
