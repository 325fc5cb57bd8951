"""The splits of a release as a training reads them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval.dataset import DatasetError, QueryRecord, read
from retrieval.errors import UserError
from retrieval.store.verified import sha256_of
from retrieval.text import question_key

MANIFEST = "manifest.json"
SPLITS = ("train", "dev", "test")
NEEDED = ("train", "dev")


@dataclass(frozen=True)
class Release:
    """Its queries with their labelled candidates; test may be empty."""

    name: str
    sha256: str  # of its manifest, which holds those of its files
    train: list[QueryRecord]
    dev: list[QueryRecord]
    test: list[QueryRecord]

    @property
    def measured(self) -> dict[str, list[QueryRecord]]:
        """What models are measured on, by its name."""
        return {"dev": self.dev, "test": self.test}

    def held_out(self) -> set[str]:
        """Keys of the queries that no model may have learned from."""
        return {question_key(record.query) for record in [*self.dev, *self.test]}


def read_release(folder: Path) -> Release:
    """UserError where it is none, a line is broken, or train or dev have nothing to learn from."""
    try:
        manifest = (folder / MANIFEST).read_bytes()
        files = json.loads(manifest).get("files", {})
        splits = {name: _split(folder, f"{name}.jsonl", files) for name in SPLITS}
    except (OSError, DatasetError, ValueError, AttributeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(
            f"{folder} is no whole release ({reason}): name the folder that `manage.py export` "
            "wrote, or the one in the archive."
        ) from error
    for name in NEEDED:
        _require_both_labels(folder, name, splits[name])
    return Release(folder.resolve().name, hashlib.sha256(manifest).hexdigest(), **splits)


def _split(folder: Path, name: str, files: Mapping[str, Any]) -> list[QueryRecord]:
    """DatasetError where it is not the file that the manifest names, or a line is no record."""
    known = files.get(name)
    if known is not None and sha256_of(folder / name) != known.get("sha256"):
        raise DatasetError(f"{name} is not the file that {MANIFEST} tells of")
    records = list(read(folder / name))
    for number, record in enumerate(records, start=1):
        texts = [record.query, *(one.question for one in record.candidates)]
        texts += [one.answer for one in record.candidates]
        if not all(isinstance(text, str) for text in texts):
            raise DatasetError(f"{name}, line {number}: a text is missing")
        if not {one.label for one in record.candidates} <= {0, 1}:
            raise DatasetError(f"{name}, line {number}: a label is neither 0 nor 1")
    return records


def _require_both_labels(folder: Path, split: str, records: list[QueryRecord]) -> None:
    if not records:
        raise UserError(
            f"The split {split} of {folder} is empty: a training needs queries in train and dev; "
            "make a release with other sizes of its splits, or of more queries."
        )
    labels = {candidate.label for record in records for candidate in record.candidates}
    if labels != {0, 1}:
        only = "positive" if 1 in labels else "negative"
        raise UserError(
            f"All candidates in {split} of {folder} are {only}: there is nothing to tell apart."
        )
