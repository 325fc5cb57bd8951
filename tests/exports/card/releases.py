"""Folders of releases as they are when the card is to be written, without a database."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from annotation.protocol.policy.policy import Policy
from exports.building.changelog import write_changes
from exports.formats.write import write_formats
from exports.layout.files import CAMPAIGN, RELEASE, STATS, annotators_tables
from retrieval.ranking.records import document
from tests.exports.card.figures import COMPLETE
from tests.exports.support.extracts import Extract, random_extract, spread

RELEASED: dict[str, Any] = {
    "format": "quorum-release",
    "format_version": 2,
    "campaign": "demo",
    "number": 1,
    "options": {"partial": False, "split": "clusters", "judgments": True},
    "previous": None,
    "nearness": {"jaccard": 0.7, "cosine": 0.9, "vectors": True},
    "versions": {"quorum": "0.1.0"},
}


def ready(
    folder: Path,
    *,
    extract: Extract | None = None,
    empty: tuple[str, ...] = (),
    stats: dict[str, Any] | None = None,
    campaign: dict[str, Any] | None = None,
    release: dict[str, Any] | None = None,
) -> Path:
    """Splits named in `empty` hold nothing; the other arguments change what the files say."""
    made = extract or random_extract(5, queries=20)
    made.campaign |= campaign or {}
    spread(made, folder)
    for split in empty:
        (folder / f"{split}.jsonl").write_bytes(b"")
    facts = deepcopy(RELEASED) | (release or {})
    write_formats(folder)
    write_changes(folder, None)
    (folder / RELEASE).write_bytes(document(facts))
    (folder / STATS).write_bytes(document(deepcopy(COMPLETE) | (stats or {})))
    (folder / CAMPAIGN).write_bytes(document(made.campaign))
    if not facts["options"]["judgments"]:
        for name in annotators_tables(Policy()):
            (folder / name).unlink()
    return folder
