"""Whether the files that figures are made of are those that were released. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exports.evaluation.coverage import damaged
from exports.layout.files import CAMPAIGN, MANIFEST
from exports.layout.manifest import checksum


def require_unchanged(release: Path, file: Path) -> None:
    """UserError where the release's manifest tells of other bytes.

    A file that it does not name is the user's own; so is a folder without a manifest.
    """
    try:
        name = file.resolve().relative_to(release.resolve()).as_posix()
        manifest = (release / MANIFEST).read_bytes()
    except (ValueError, FileNotFoundError):
        return
    if not file.is_file():
        return  # who reads it says so
    try:
        listed = json.loads(manifest)["files"].get(name)
        same = listed is None or listed["sha256"] == checksum(file)["sha256"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(release, ValueError(f"{MANIFEST} is no list of files")) from error
    if not same:
        raise damaged(release, ValueError(f"{name} is not the file that {MANIFEST} names"))


def campaign_facts(release: Path) -> Mapping[str, Any]:
    """Empty where a folder has none."""
    if not (release / CAMPAIGN).is_file():
        return {}
    require_unchanged(release, release / CAMPAIGN)
    try:
        facts: Mapping[str, Any] = json.loads((release / CAMPAIGN).read_bytes())
    except ValueError as error:
        raise damaged(release, error) from error
    return facts
