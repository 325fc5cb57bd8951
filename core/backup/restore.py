"""A backup into an empty site: `quorum restore`.

1. The database and the folders are empty, or it is refused.
2. The whole file is read and compared with its manifest. Until then nothing is written.
3. The files are unpacked beside their places.
4. The database is loaded in one transaction: killed until then, only what step 3 made is there,
   and the next restore clears it.
5. The files move to their places, by their names alone: an instant, the only one in which a kill
   leaves a database without its files. Both are moved away, then, and restored again.
6. What this version adds to the tables is added, as by `manage.py migrate`.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from core.backup.archive import (
    MANIFEST,
    NOTHING,
    Manifest,
    Opened,
    checked,
    members,
    words_for_damage,
)
from core.backup.contents import EMULATOR, SECRET_KEY, places
from core.backup.databases import NAMES, load, require_programs
from core.errors import UserError
from core.files.open import check_is_file
from core.files.work_folder import sync, sync_folders, unfinished
from core.progress import Progress
from core.storage import VARIABLES

DATA = ""  # the place of what lies in the data folder itself
STAGE = "restore"  # of the folder beside them where files are unpacked


def restore(path: Path, *, progress: Progress) -> dict[str, Any]:
    """`progress` counts the bytes of the file, which is read twice."""
    check_is_file(path)
    _require_empty()
    require_programs()
    room = shutil.disk_usage(settings.DATA_DIR).free
    with path.open("rb") as file, words_for_damage(path):
        manifest = checked(path, file, room=room, progress=progress)
        _require_fitting(path, manifest)
        _install(path, file, manifest, progress)
    before = _migrations(path, manifest)
    call_command("migrate", verbosity=0, interactive=False)
    return {
        "restored": str(path),
        "made_at": manifest.get("made_at"),
        "by": f"Quorum {manifest.get('quorum')}",
        "files": len(manifest["files"]),
        "migrations_added": len(_known() - before),
    }


def _require_empty() -> None:
    name = connection.settings_dict["NAME"]
    # A file of SQLite would be made by looking into it.
    is_there = connection.vendor != "sqlite" or os.path.exists(name)
    if tables := is_there and connection.introspection.table_names():
        raise UserError(
            f"The database {name} has {len(tables)} tables already, and a backup is restored into "
            f"an empty one: name another one, or move this one away. {NOTHING}"
        )
    data = Path(settings.DATA_DIR)
    there = [data / EMULATOR, *(path for folder in places().values() for path in _inside(folder))]
    if present := [path for path in there if path.exists()]:
        raise UserError(
            f"{present[0]} is there already, and a backup is restored into empty folders: name "
            f"another folder by QUORUM_DATA, or move what is there away. {NOTHING}"
        )


def _inside(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.name != f".{STAGE}.unfinished")


def _require_fitting(path: Path, manifest: Manifest) -> None:
    vendor = manifest["database"].get("vendor")
    if vendor != connection.vendor:
        raise UserError(
            f"{path} holds a database of {vendor!r}, and this one is of {connection.vendor!r}: let "
            f"QUORUM_DATABASE_URL name one of the same kind. {NOTHING}"
        )
    if unknown := sorted(_migrations(path, manifest) - _known()):
        raise UserError(
            f"{path} was made by a newer Quorum ({manifest.get('quorum')}), whose tables this one "
            f"does not know ({'.'.join(unknown[0])}): install that version first. {NOTHING}"
        )
    database = NAMES[connection.vendor]
    if database not in manifest["files"]:
        raise UserError(
            f"{path} was not written by `quorum backup`: it lacks {database}. {NOTHING}"
        )
    known = {database, SECRET_KEY, EMULATOR}
    for name in manifest["files"]:
        if name not in known and not _has_place(name):
            raise UserError(_no_place(path, name))


def _has_place(name: str) -> bool:
    place, inside, _ = name.partition("/")
    return bool(inside) and place in places()


def _no_place(path: Path, name: str) -> str:
    alias = name.partition("/")[0]
    if alias in VARIABLES:
        return (
            f"{path} holds files of {VARIABLES[alias]}, which names no folder here: let it name "
            f"one. {NOTHING}"
        )
    return f"{path} was not written by `quorum backup`: {name!r} has no place here. {NOTHING}"


def _migrations(path: Path, manifest: Manifest) -> set[tuple[str, ...]]:
    rows = manifest["database"].get("migrations")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise UserError(f"{path} does not say which tables it holds. {NOTHING}")
    return {tuple(map(str, row)) for row in rows}


def _known() -> set[tuple[str, ...]]:
    return set(MigrationLoader(None).disk_migrations)


def _install(path: Path, file: IO[bytes], manifest: Manifest, progress: Progress) -> None:
    used = {name.partition("/")[0] for name in manifest["files"]}
    folders = {place: folder for place, folder in places().items() if place in used}
    folders[DATA] = Path(settings.DATA_DIR)  # the last to be filled
    with ExitStack() as stack:
        stages = {
            place: stack.enter_context(unfinished(folder / STAGE, purpose="restore into"))
            for place, folder in folders.items()
        }
        for stage in stages.values():
            stage.chmod(0o700)
        database = stages[DATA] / NAMES[connection.vendor]
        for member in members(path, file, progress):
            if member.name != MANIFEST:
                _unpack(member, stages)
        for stage in stages.values():
            sync_folders(stage)
        load(database)
        database.unlink()
        for place, folder in folders.items():
            _move(stages[place], folder)


def _unpack(member: Opened, stages: Mapping[str, Path]) -> None:
    place, inside, rest = member.name.partition("/")
    target = stages[place] / rest if inside else stages[DATA] / place
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as written:
        for step in member.steps():
            written.write(step)
        os.utime(written.fileno(), (member.mtime, member.mtime))
        os.fchmod(written.fileno(), (member.mode | 0o600) & 0o700)
        os.fsync(written.fileno())


def _move(stage: Path, folder: Path) -> None:
    for path in sorted(stage.iterdir()):
        os.replace(path, folder / path.name)
    sync(folder)
