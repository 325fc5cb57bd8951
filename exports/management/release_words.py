"""What the commands say of a release."""

from collections.abc import Mapping
from typing import Any


def changes_in_words(changes: Mapping[str, Any]) -> str:
    """Of changes.json."""
    if changes["previous"] is None:
        return "the campaign's first release"
    labels, queries = changes["labels"], changes["queries"]
    return f"since the release before: labels {_counts(labels)}; queries {_counts(queries)}"


def check(folder: str) -> str:
    return f"card: {folder}/README.md; to check every figure: python -m exports.verify {folder}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in counts.items())
