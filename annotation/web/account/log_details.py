"""An action's details, for readers of the log."""

import json
from collections.abc import Mapping
from typing import Any

from core.text.money import money

LONGEST = 300


def details_in_words(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        _fact(key, value)
        for key, value in details.items()
        if value not in (None, "", [], {}) and value is not False and key != "digest"
    ]


def _fact(key: str, value: Any) -> tuple[str, str]:
    if f"_{key}".endswith("_cents") and isinstance(value, int) and not isinstance(value, bool):
        return key.removesuffix("cents").replace("_", " ").strip() or "amount", money(value)
    return key.replace("_", " "), _short(_in_words(value))


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(
            f"{key.replace('_', ' ')} {_in_words(each)}" for key, each in value.items()
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
