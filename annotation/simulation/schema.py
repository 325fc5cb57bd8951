"""An empty database for a dry run: all migrations take longer than a small dry run does."""

import hashlib
import shutil
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import connection

KEPT = ".empty.sqlite3"


def make_database(database: Path, kept_in: Path) -> None:
    """The default one, by a copy of the empty one that an earlier caller has left in `kept_in`."""
    kept = kept_in / f"{_migrations()}{KEPT}"
    try:
        shutil.copyfile(kept, database)
    except FileNotFoundError:
        call_command("migrate", verbosity=0)
        _keep(kept, fresh=database.with_name("empty.sqlite3"))


def _keep(kept: Path, *, fresh: Path) -> None:
    kept.parent.mkdir(exist_ok=True)
    for old in kept.parent.glob(f"*{KEPT}"):
        old.unlink(missing_ok=True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(fresh)])
    shutil.move(fresh, kept)


def _migrations() -> str:
    """A digest of what all migrations say."""
    digest = hashlib.sha256()
    for app in apps.get_app_configs():
        for path in sorted((Path(app.path) / "migrations").glob("*.py")):
            digest.update(f"{app.label}/{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
