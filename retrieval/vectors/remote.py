"""Shards in `storages["vectors"]`, where QUORUM_VECTORS names a folder or S3: for other machines.

    STORE/NAME.keys.npy, STORE/NAME.vectors.npy, STORE/NAME.json (last)

What is there is never changed. What comes from there is checked before it takes its place.
"""

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import storages

from core.errors import UserError
from core.storage import location_of, steps, translated
from retrieval.vectors.checksums import Facts
from retrieval.vectors.shards import (
    Identity,
    Shard,
    files_of,
    read_keys,
    record_of,
    shard_of,
    write_record,
    writing,
)
from retrieval.vectors.types import PairKeys, positions_in
from retrieval.vectors.unfinished_files import sync, unfinished

ALIAS = "vectors"
AT_ONCE = 4  # downloads


def publish(folder: Path, shard: Shard) -> None:
    """Copy the shard there; what lies there already is not sent again."""
    if ALIAS in settings.STORAGES:
        for name in (*files_of(shard.name), record_of(shard.name)):
            _put(folder / name, f"{folder.name}/{name}")


def fetch_missing(folder: Path, shards: Iterable[Shard]) -> None:
    """Copy here what is not here; what is not there either is for `verify` to tell."""
    if ALIAS not in settings.STORAGES:
        return
    lacking = [shard for shard in shards if any(_lacking(folder, shard))]
    files = [file for shard in lacking for file in _lacking(folder, shard)]
    with ThreadPoolExecutor(AT_ONCE) as readers:
        # All of them, so that the first error is raised.
        list(readers.map(lambda file: _get(folder, *file), files))
    for shard in lacking:
        if not any(_lacking(folder, shard)):
            with writing(folder):
                write_record(folder, shard)


def fetch_holding(folder: Path, identity: Identity, keys: PairKeys) -> list[Shard]:
    """Copy here the shards that hold pairs with these keys, given in order; those alone."""
    if ALIAS not in settings.STORAGES:
        return []
    fetched = []
    for name in _names(folder):
        if not len(keys):
            break
        shard = _record(folder, identity, name)
        of_keys, of_vectors = files_of(name)
        _get(folder, of_keys, shard.files[of_keys])
        covered = positions_in(read_keys(folder, shard), keys) >= 0
        if covered.any():
            # Here without its record: it may be the one found damaged.
            (folder / of_vectors).unlink(missing_ok=True)
            fetch_missing(folder, [shard])
            fetched.append(shard)
            keys = keys[~covered]
        else:
            (folder / of_keys).unlink()
    return fetched


def _lacking(folder: Path, shard: Shard) -> list[tuple[str, Facts]]:
    return [
        (name, facts)
        for name, facts in shard.files.items()
        if not (folder / name).is_file() or (folder / name).stat().st_size != facts["bytes"]
    ]


def _names(folder: Path) -> list[str]:
    """Of the shards that are complete there and not here."""
    with translated(ALIAS, "read"), suppress(FileNotFoundError):
        _, files = storages[ALIAS].listdir(folder.name)
        records = [name for name in files if name.startswith("shard-") and name.endswith(".json")]
        return sorted(Path(name).stem for name in records if not (folder / name).is_file())
    return []


def _record(folder: Path, identity: Identity, name: str) -> Shard:
    path = f"{folder.name}/{record_of(name)}"
    with translated(ALIAS, "read"), storages[ALIAS].open(path, "rb") as content:
        record = content.read()
    try:
        return shard_of(record, name, identity)
    except UserError as error:
        raise _damaged(path) from error


def _put(path: Path, name: str) -> None:
    place = storages[ALIAS]
    with translated(ALIAS, "written"):
        if place.exists(name):
            if place.size(name) == path.stat().st_size:
                return
            place.delete(name)  # half of it, from a process that was killed
        with path.open("rb") as content:
            stored = place.save(name, File(content))
        if stored != name:  # another worker was quicker with the same
            place.delete(stored)


def _get(folder: Path, name: str, facts: Facts) -> None:
    path = f"{folder.name}/{name}"
    with translated(ALIAS, "read"):
        try:
            content = storages[ALIAS].open(path, "rb")
        except FileNotFoundError:
            return
    with content, writing(folder), unfinished(folder) as (fetched, file):
        digest = hashlib.sha256()
        for step in steps(ALIAS, content):
            digest.update(step)
            file.write(step)
        if digest.hexdigest() != facts["sha256"]:
            raise _damaged(path)
        sync(file)
        fetched.replace(folder / name)


def _damaged(path: str) -> UserError:
    return UserError(
        f"{path} is damaged in {location_of(ALIAS)}, it is not the file recorded: delete it there "
        "and run the command again."
    )
