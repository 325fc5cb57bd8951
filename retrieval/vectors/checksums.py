"""Files against their recorded sizes and checksums; what was found sound is remembered beside them.

Gigabytes that nobody has touched are not read again: a file is known by its size, its inode and
the times of its last change, of which no program can set one back. What a disk loses without a
word only `quorum index verify` finds: it trusts no memory.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from core.errors import UserError
from retrieval.vectors.unfinished_files import unfinished

Facts = Mapping[str, int | str]  # bytes, sha256
Seen = list[int | str]

MEMORY = ".verified.json"
# The clock of a file system ticks slowly: a file changed just now may change again unnoticed.
SETTLED_NS = 2_000_000_000
READERS = 4


def verify_files(
    folder: Path, files: Mapping[str, Facts], hint: str, *, again: bool = False
) -> None:
    """Refuse, by name, the first that is missing, cut short, or not the one recorded.

    `again`: those that were found sound before are read, too.
    """
    for name, recorded in files.items():
        _require_size(folder / name, recorded, hint)
    seen = {name: _seen(folder / name, facts["sha256"]) for name, facts in files.items()}
    known = {} if again else _remembered(folder)
    unknown = [name for name in files if known.get(name) != seen[name]]
    began = time.time_ns()
    for name, checksum in zip(unknown, _checksums(folder, unknown), strict=True):
        if checksum != files[name]["sha256"]:
            raise UserError(
                f"The index file {folder / name} is not the one recorded for this index, its "
                f"checksum differs: {hint}."
            )
    _remember(folder, {name: seen[name] for name in unknown}, before=began - SETTLED_NS)


def facts_of(path: Path) -> Facts:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksums(folder: Path, names: Iterable[str]) -> Iterable[str]:
    """In the order of the names; hashing leaves other threads their turn."""
    with ThreadPoolExecutor(min(READERS, os.cpu_count() or 1)) as readers:
        yield from readers.map(sha256_of, [folder / name for name in names])


def _require_size(path: Path, recorded: Facts, hint: str) -> None:
    if not path.is_file():
        raise UserError(f"The index file {path} is missing: {hint}.")
    if (size := path.stat().st_size) != recorded["bytes"]:
        raise UserError(
            f"The index file {path} has {size:,} bytes instead of {recorded['bytes']:,}: {hint}."
        )


def _seen(path: Path, sha256: int | str) -> Seen:
    status = path.stat()
    return [status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino, sha256]


def _remembered(folder: Path) -> dict[str, Seen]:
    """Empty where the memory is lost or malformed."""
    with suppress(OSError, ValueError):
        memory = json.loads((folder / MEMORY).read_bytes())
        return memory if isinstance(memory, dict) else {}
    return {}


def _remember(folder: Path, sound: Mapping[str, Seen], *, before: int) -> None:
    """Files last changed before that time, and those remembered that are still there."""
    settled = {name: seen for name, seen in sound.items() if int(seen[0]) < before}
    if not settled:
        return
    known = _remembered(folder) | settled
    there = {name: seen for name, seen in known.items() if (folder / name).is_file()}
    # In a folder of another user's the files are read again next time.
    with suppress(OSError), unfinished(folder) as (path, file):
        file.write(json.dumps(there).encode())
        file.flush()
        path.replace(folder / MEMORY)
