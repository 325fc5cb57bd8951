"""The splits of a release as a training reads them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import UserError
from core.text.clean import question_key
from retrieval.ranking.records import DatasetError, QueryRecord, read
from retrieval.vectors.checksums import sha256_of

MANIFEST = "manifest.json"
RELEASE = "release.json"
SPLITS = ("train", "dev", "test")
NEEDED = ("train", "dev")


@dataclass(frozen=True)
class Release:
    """Its queries with their labelled candidates; test may be empty.

    Train lacks what dev or test ask too, as WikiQA does once: it would be learned and measured.
    """

    name: str
    sha256: str  # of its manifest, which holds those of its files
    train: list[QueryRecord]
    dev: list[QueryRecord]
    test: list[QueryRecord]
    asked_again: int  # queries that train lacks

    @property
    def measured(self) -> dict[str, list[QueryRecord]]:
        """What models are measured on, by its name."""
        return {"dev": self.dev, "test": self.test}

    def held_out(self) -> set[str]:
        """Keys of the queries that no model may have learned from."""
        return _keys(self.dev, self.test)

    def without(self, asked: Collection[str]) -> Release:
        """Train lacks the queries of these keys."""
        kept = [one for one in self.train if question_key(one.query) not in asked]
        again = self.asked_again + len(self.train) - len(kept)
        return replace(self, train=kept, asked_again=again)


def read_release(folder: Path) -> Release:
    """UserError where it is none, a line is broken, or train or dev have nothing to learn from."""
    try:
        manifest = (folder / MANIFEST).read_bytes()
        files = _named(manifest)
        splits = {name: _split(folder / f"{name}.jsonl", files) for name in SPLITS}
        _require_each_query_once(splits)
    except (OSError, DatasetError) as error:
        reason = str(error)
        if isinstance(error, OSError):
            reason = f"{Path(str(error.filename)).name}: {error.strerror}"
        raise UserError(
            f"{folder} is not a complete release ({reason}): name the folder that "
            "`quorum release build` or `import` wrote, or the one in the archive."
        ) from error
    held_out = _keys(splits["dev"], splits["test"])
    every = splits["train"]
    splits["train"] = [one for one in every if question_key(one.query) not in held_out]
    for name in NEEDED:
        require_both_labels(str(folder), name, splits[name])
    left_out = len(every) - len(splits["train"])
    return Release(
        _name(folder), hashlib.sha256(manifest).hexdigest(), **splits, asked_again=left_out
    )


def _keys(*splits: Sequence[QueryRecord]) -> set[str]:
    return {question_key(record.query) for split in splits for record in split}


def _name(folder: Path) -> str:
    """The campaign's with the release's number, else the folder's."""
    try:
        release = json.loads((folder / RELEASE).read_bytes())
        return f"{release['campaign']}-{release['number']}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return folder.resolve().name


def _named(manifest: bytes) -> dict[str, str]:
    """Each split's file with its sha256: without them, changed data would keep the digest."""
    try:
        files = json.loads(manifest)["files"]
        return {f"{name}.jsonl": str(files[f"{name}.jsonl"]["sha256"]) for name in SPLITS}
    except KeyError as error:
        raise DatasetError(f"{MANIFEST} lacks {error.args[0]}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise DatasetError(f"{MANIFEST} is no list of files") from error


def _split(path: Path, files: Mapping[str, str]) -> list[QueryRecord]:
    """DatasetError where it is not the file that the manifest names, or a line is no record."""
    if sha256_of(path) != files[path.name]:
        raise DatasetError(f"{path.name} is not the file that {MANIFEST} names")
    records = list(read(path))
    for number, record in enumerate(records, start=1):
        if fault := _fault(record):
            raise DatasetError(f"{path.name}, line {number}: {fault}")
    return records


def _fault(record: QueryRecord) -> str | None:
    ids = [one.id for one in record.candidates]
    if not all(isinstance(name, str) for name in [record.id, *ids]):
        return "an id is no text"
    if len(set(ids)) < len(ids):
        return "a candidate is repeated"
    texts = [text for one in record.candidates for text in (one.question, one.answer)]
    if not all(isinstance(text, str) for text in [record.query, *texts]):
        return "a text is missing"
    labels: list[object] = [one.label for one in record.candidates]
    if not all(type(label) is int and label in (0, 1) for label in labels):
        return "a label is neither 0 nor 1"
    return None


def _require_each_query_once(splits: Mapping[str, Sequence[QueryRecord]]) -> None:
    """In one split, too: what is learned from is not measured on."""
    seen: dict[str, str] = {}
    for split, records in splits.items():
        for record in records:
            if before := seen.get(record.id):
                where = f"{split} twice" if before == split else f"{before} and {split}"
                raise DatasetError(f"the query {record.id[:60]!r} is in {where}")
            seen[record.id] = split


def require_both_labels(where: str, split: str, records: Sequence[QueryRecord]) -> None:
    if not records:
        raise UserError(
            f"The split {split} of {where} is empty: a training needs queries in train and dev; "
            "make a release with other sizes of its splits, or of more queries."
        )
    labels = {candidate.label for record in records for candidate in record.candidates}
    if labels != {0, 1}:
        only = "positive" if 1 in labels else "negative"
        raise UserError(
            f"All candidates in {split} of {where} are {only}: there is nothing to learn."
        )
