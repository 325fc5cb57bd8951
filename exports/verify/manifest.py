"""Whether a folder holds the files that its manifest names, byte for byte, and no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from core.errors import UserError
from exports.layout.files import (
    CAMPAIGN,
    CARD,
    CHANGED_LABELS,
    CHANGES,
    CROISSANT,
    FORMAT,
    GOLD,
    LABELLED_SET,
    MANIFEST,
    PLACEMENTS,
    RELEASE,
    SPLIT_FILES,
    STATS,
)
from exports.layout.manifest import checksum
from exports.layout.rules import COUNT, ID, OBJECT
from exports.verify.findings import Findings, quote
from exports.verify.schemas import LONGEST, VERSION, faults
from retrieval.ranking.records import document

NEEDED = (
    CARD,
    RELEASE,
    CAMPAIGN,
    STATS,
    CHANGES,
    CHANGED_LABELS,
    CROISSANT,
    PLACEMENTS,
    GOLD,
    *SPLIT_FILES,
)
SCHEMA = {"format": ID, "format_version": VERSION, "campaign": ID, "number": COUNT, "files": OBJECT}
EMPTY = "an empty folder"
MAYBE_EMPTY = ("plots",)  # of a release with too little to plot
ENTRY = {"bytes": COUNT, "sha256": ID}


def read_manifest(folder: Path) -> dict[str, Any]:
    """UserError where the folder is no release at all."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder: name the folder that a release was unpacked to.")
    try:
        if not stat.S_ISREG(path.lstat().st_mode) or path.stat().st_size > LONGEST:
            raise UserError(f"{path} is no manifest of a release: unpack the release again.")
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(
            f"{folder} is no release, it holds no {MANIFEST}: name the folder that a release was "
            "unpacked to."
        ) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): unpack or download the release again."
        ) from error
    if isinstance(value, dict) and value.get("format") == LABELLED_SET:
        raise UserError(
            f"{folder} is an imported set, on which nobody voted here: there is nothing to verify."
        )
    fault = next(faults(value, SCHEMA), None)
    if isinstance(value, dict) and value.get("format", FORMAT) != FORMAT:
        fault = f"format must be {FORMAT}, not {quote(value['format'])}"
    if fault:
        raise UserError(f"{path} is no manifest of a release that this software knows: {fault}.")
    return dict(value)


def check_files(folder: Path, manifest: Mapping[str, Any], findings: Findings) -> set[str]:
    """The paths of the files that are there and can be read on: plain, inside, named."""
    if document(dict(manifest)) != (folder / MANIFEST).read_bytes():
        findings.differ(MANIFEST, f"{MANIFEST}: not written as a release's is")
    there = dict(_entries(folder, folder))
    hidden = _hidden(set(there), manifest, findings)
    there = {path: kind for path, kind in there.items() if _top(path) not in hidden}
    for path, kind in sorted(there.items()):
        if kind == EMPTY:
            if path not in MAYBE_EMPTY or path in manifest["files"]:
                findings.differ(EMPTY, f"{quote(path)[1:-1]}: {EMPTY}, no release has one")
        elif kind != "file":
            findings.differ("not a plain file", f"{quote(path)[1:-1]}: {kind}, not a plain file")
        elif path not in manifest["files"] and path != MANIFEST:
            findings.differ("not in the manifest", f"{quote(path)[1:-1]}: not in {MANIFEST}")
    for path, entry in manifest["files"].items():
        _check_file(folder, path, entry, there, findings)
    for path in NEEDED:
        if path not in manifest["files"]:
            findings.differ("not in the manifest", f"{path}: {MANIFEST} does not name it")
    return {path for path, kind in there.items() if kind == "file"}


def _top(path: str) -> str:
    return path.split("/", 1)[0]


def _hidden(there: set[str], manifest: Mapping[str, Any], findings: Findings) -> set[str]:
    """What people who keep a copy put at its top: a hub's .gitattributes, the folder of a clone."""
    named = {_top(path) for path in manifest["files"]}
    hidden = {_top(path) for path in there if path.startswith(".")} - named
    if hidden:
        names = ", ".join(quote(name)[1:-1] for name in sorted(hidden))
        findings.unchecked.append(f"{names}: not of the release, and not looked at.")
    return hidden


def _entries(folder: Path, root: Path) -> Iterator[tuple[str, str]]:
    """Path and kind of everything in the folder; links are not followed."""
    with os.scandir(folder) as entries:
        there = list(entries)
        if not there and folder != root:
            yield folder.relative_to(root).as_posix(), EMPTY
        for entry in there:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(path, root)
            else:
                yield path.relative_to(root).as_posix(), _kind(entry)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "a link"
    return "file" if entry.is_file(follow_symlinks=False) else "something special"


def _check_file(
    folder: Path, path: str, entry: Any, there: Mapping[str, str], findings: Findings
) -> None:
    findings.checked += 1
    name = quote(path)[1:-1]
    if not _inside(path):
        findings.differ(MANIFEST, f"{MANIFEST}: {name} is no path inside the release")
    elif fault := next(faults(entry, ENTRY), None):
        findings.differ(MANIFEST, f"{MANIFEST}: of {name}, {fault}")
    elif path not in there:
        findings.differ("missing", f"{name}: missing")
    elif there[path] == "file":
        digest = checksum(folder / path)
        for what in ("bytes", "sha256"):
            if digest[what] != entry[what]:
                findings.differ(
                    "not the file of the manifest",
                    f"{name}: {what} {digest[what]}, in {MANIFEST} {quote(entry[what])}",
                )
                return


def _inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    plain = str(PurePosixPath(path)) == path and not path.startswith("/") and "\x00" not in path
    return plain and bool(parts) and ".." not in parts and path != MANIFEST
