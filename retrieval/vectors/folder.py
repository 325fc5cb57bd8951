"""The folder of indexes: stores of vectors, versions over them, and one build at a time.

    .lock
    stores/NAME/     identity.json and the shards; NAME is made of the identity
    versions/NAME/   manifest.json and what the index needs beside the shards; never changed

A version names its shards; many versions share them.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.errors import UserError
from retrieval.vectors.checksums import Facts, sha256_of, verify_files
from retrieval.vectors.remote import fetch_missing
from retrieval.vectors.shards import Identity, Shard, writing
from retrieval.vectors.store import VectorStore
from retrieval.vectors.unfinished_files import sync, unfinished

MANIFEST = "manifest.json"
IDENTITY = "identity.json"
REMOVED = "removed.npy"  # positions of rows that the version does not hold

Manifest = Mapping[str, Any]


def rebuild_hint(manifest: Manifest) -> str:
    corpus = f" --corpus {manifest['corpus']}" if "corpus" in manifest else ""
    of = f"--model {manifest['model']} --form {manifest['form']}{corpus}"
    return f"run `quorum index build {of}`"


class Busy(UserError):
    """Another process is at it."""


@contextmanager
def one_build(
    root: Path, what: str = "An index is being built", *, wait: bool = False
) -> Iterator[None]:
    """Refused while another process builds, unless it is to wait."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise Busy(f"{what} already: wait until it is done.") from error
        yield


def store_folder(root: Path, identity: Identity) -> Path:
    """The folder of the store of this identity, made where there is none."""
    folder = root / "stores" / f"{identity.form.lower()}-{identity.digest[:16]}"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # Told by the name: what else may stand there is of no use.
        text = identity.text.encode()
        if not (folder / IDENTITY).is_file() or (folder / IDENTITY).read_bytes() != text:
            with unfinished(folder) as (path, file):
                file.write(text)
                sync(file)
                path.replace(folder / IDENTITY)
    return folder


@contextmanager
def fresh_version(root: Path) -> Iterator[Path]:
    """An empty folder to make a version in; what a killed build left in it is thrown away."""
    folder = root / "versions" / ".unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def complete(folder: Path, facts: Manifest) -> dict[str, Any]:
    """Write the manifest: the facts given and the size and checksum of each file."""
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.iterdir())
    }
    manifest = {**facts, "files": files}
    (folder / MANIFEST).write_text(encoded(manifest), encoding="utf-8")
    return manifest


def install(folder: Path, manifest: Manifest) -> str:
    """Move a complete folder to its place, which is named after its manifest; returns the name."""
    digest = hashlib.sha256(encoded(manifest).encode()).hexdigest()
    target = folder.parent / f"{manifest['form'].lower()}-{digest[:16]}"
    # Of the same name means of the same content; if it is still there, it was found damaged.
    shutil.rmtree(target, ignore_errors=True)
    os.replace(folder, target)
    return target.name


def open_version_store(root: Path, manifest: Manifest) -> VectorStore:
    """The version's shards; their files are not verified again."""
    identity = Identity(**manifest["store"])
    folder, shards = store_folder(root, identity), shards_of(manifest)
    fetch_missing(folder, shards)
    return VectorStore(folder, identity, shards)


def shards_of(manifest: Manifest) -> list[Shard]:
    return [Shard(**shard) for shard in manifest["shards"]]


def files_of_all(shards: Iterable[Shard]) -> dict[str, Facts]:
    return {name: facts for shard in shards for name, facts in shard.files.items()}


def verify(root: Path, name: str, manifest: Manifest) -> None:
    """Refuse, by name, a file of the version or of its shards that is not the one recorded.

    Shards that lie only where QUORUM_VECTORS says are fetched.
    """
    hint = rebuild_hint(manifest)
    require_manifest(root, name, manifest, hint)
    verify_files(root / "versions" / name, manifest["files"], hint)
    store = store_folder(root, Identity(**manifest["store"]))
    fetch_missing(store, shards_of(manifest))
    verify_files(store, files_of_all(shards_of(manifest)), hint)


def require_manifest(root: Path, name: str, manifest: Manifest, hint: str) -> None:
    path = root / "versions" / name / MANIFEST
    if not path.is_file():
        raise UserError(f"The index file {path} is missing: {hint}.")
    if path.read_text(encoding="utf-8", errors="replace") != encoded(manifest):
        raise UserError(f"{path} is not the one recorded for this index: {hint}.")


def encoded(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
