"""The folder of an index: written whole or not at all, and checked before it is used."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from retrieval.errors import UserError

MANIFEST = "manifest.json"
VECTORS = "index.faiss"
PAIR_KEYS = "pair_keys.npy"
FILES = (VECTORS, PAIR_KEYS)

Manifest = Mapping[str, Any]


def rebuild_hint(manifest: Manifest) -> str:
    return f"run `manage.py index --model {manifest['model']} --form {manifest['form']}`"


@contextmanager
def fresh_folder(root: Path) -> Iterator[Path]:
    """An empty folder for one build at a time; what a killed build left is thrown away."""
    root.mkdir(parents=True, exist_ok=True)
    folder = root / ".unfinished"
    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError("An index is being built already: wait until it is done.") from error
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def complete(folder: Path, facts: Manifest) -> dict[str, Any]:
    """Write the manifest: the facts given and the size and checksum of each file."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": _sha256(folder / name)}
        for name in FILES
    }
    manifest = {**facts, "files": files}
    (folder / MANIFEST).write_text(_encoded(manifest), encoding="utf-8")
    return manifest


def install(folder: Path, manifest: Manifest) -> str:
    """Move a complete folder to its place, which is named after its manifest; returns the name."""
    digest = hashlib.sha256(_encoded(manifest).encode()).hexdigest()
    target = folder.parent / f"{manifest['form'].lower()}-{digest[:16]}"
    # Of the same name means of the same content; if it is still there, it was found damaged.
    shutil.rmtree(target, ignore_errors=True)
    os.replace(folder, target)
    return target.name


def verify(folder: Path, manifest: Manifest) -> None:
    """Refuse, by name, a file that is missing, cut short, or not the one recorded."""
    hint = rebuild_hint(manifest)
    for name in (MANIFEST, *FILES):
        if not (folder / name).is_file():
            raise UserError(f"The index file {folder / name} is missing: {hint}.")
    if (folder / MANIFEST).read_text(encoding="utf-8", errors="replace") != _encoded(manifest):
        raise UserError(f"{folder / MANIFEST} is not the one recorded for this index: {hint}.")
    for name, recorded in manifest["files"].items():
        size = (folder / name).stat().st_size
        if size != recorded["bytes"]:
            raise UserError(
                f"The index file {folder / name} has {size:,} bytes instead of "
                f"{recorded['bytes']:,}: {hint}."
            )
        if _sha256(folder / name) != recorded["sha256"]:
            raise UserError(
                f"The index file {folder / name} is not the one recorded for this index, "
                f"its checksum differs: {hint}."
            )


def _encoded(manifest: Manifest) -> str:
    return json.dumps(manifest, indent=2, sort_keys=True) + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
