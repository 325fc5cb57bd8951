"""A site in one file, consistent while work goes on: `quorum backup`.

The database comes first, as it was at one moment. The records of the site's Turk follow, as they
are later: each row of a ledger that a pay-out names is there. A release, a version of an index, or
a model lies whole in its folder before a row names it, and never changes afterwards: what the rows
of that moment name is still there when the files are read. Files of a later moment harm nothing,
for no row names them. The other way round, a release made in between would be a row without files.

Files that go meanwhile are left out: of an import that has ended, or pruned vectors, which
`quorum index build` makes again.

The file has its name once it is whole and on the disk; until then its parts lie in a folder beside
it, which the next backup to that name clears if this one is killed.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from core.backup.archive import Packer, packing
from core.backup.contents import EMULATOR, SECRET_KEY, TURK, files_in, left_out, open_plain, places
from core.backup.databases import NAMES, copy_sqlite, dump, require_programs
from core.errors import UserError
from core.files.work_folder import sync, unfinished
from core.progress import Progress
from core.version import quorum_version

UNNAMED = "backup"  # until it is whole


def back_up(out: Path, *, overwrite: bool, progress: Progress) -> dict[str, Any]:
    """`progress` counts the bytes that are read, the database's twice."""
    out = Path(os.path.abspath(out))
    _require_target(out, overwrite)
    require_programs()
    with unfinished(out, purpose="backup to") as work:
        work.chmod(0o700)
        files = _write(work, out, progress)
        _require_target(out, overwrite)
        os.replace(work / UNNAMED, out)
        sync(out.parent)
    return {"backup": str(out), "bytes": out.stat().st_size, "files": files, "notes": left_out()}


def _require_target(out: Path, overwrite: bool) -> None:
    if not out.parent.is_dir():
        raise UserError(f"There is no folder {out.parent}: make it, or name another one.")
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file in it.")
    if out.exists() and not overwrite:
        raise UserError(f"{out} is there already: name another file, or add --overwrite.")


def _write(work: Path, out: Path, progress: Progress) -> int:
    """How many files it holds, the database among them."""
    descriptor = os.open(work / UNNAMED, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with packing(file, progress) as packer:
            facts = _add_database(packer, work, progress)
            _add_files(packer, work, out, progress)
            count = len(packer.members)
            packer.close(work, facts)
        file.flush()
        os.fsync(file.fileno())
    return count


def _add_database(packer: Packer, work: Path, progress: Progress) -> dict[str, Any]:
    """What the manifest says of it and of the backup."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    copy = work / NAMES[connection.vendor]
    migrations = dump(copy, progress)
    _add(packer, copy.name, copy)
    copy.unlink()  # before more is written: the disk may be small
    database = {"vendor": connection.vendor, "migrations": migrations}
    return {"quorum": quorum_version(), "made_at": now, "database": database}


def _add_files(packer: Packer, work: Path, out: Path, progress: Progress) -> None:
    data = Path(settings.DATA_DIR)
    _add(packer, SECRET_KEY, data / SECRET_KEY)
    if (data / EMULATOR).is_file():
        _add_sqlite(packer, EMULATOR, data / EMULATOR, work, progress)
    for name, folder in places().items():
        for path in files_in(folder):
            if name == TURK:
                _add_sqlite(packer, f"{name}/{path}", folder / path, work, progress)
            elif folder / path != out:
                _add(packer, f"{name}/{path}", folder / path)


def _add_sqlite(packer: Packer, name: str, path: Path, work: Path, progress: Progress) -> None:
    copy = work / "copy.sqlite3"
    copy.touch(mode=0o600)
    copy_sqlite(path, copy, progress)
    _add(packer, name, copy)
    copy.unlink()


def _add(packer: Packer, name: str, path: Path) -> None:
    if file := open_plain(path):
        with file:
            packer.add(name, file)
