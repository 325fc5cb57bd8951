"""An empty database for a dry run: all migrations take longer than a small dry run does."""

import hashlib
import shutil
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection

KEPT = ".empty.sqlite3"


def make_database() -> None:
    """By a copy of the empty one that an earlier dry run has left; the first one leaves it."""
    database = Path(str(settings.DATABASES["default"]["NAME"]))
    kept = settings.DATA_DIR.parent / f"{_migrations()}{KEPT}"
    try:
        shutil.copyfile(kept, database)
    except FileNotFoundError:
        call_command("migrate", verbosity=0)
        _keep(kept)


def _keep(kept: Path) -> None:
    for old in kept.parent.glob(f"*{KEPT}"):
        old.unlink(missing_ok=True)
    fresh = settings.DATA_DIR / "empty.sqlite3"
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(fresh)])
    fresh.replace(kept)  # whole or not at all


def _migrations() -> str:
    """A digest of what all migrations say."""
    digest = hashlib.sha256()
    for app in apps.get_app_configs():
        for path in sorted((Path(app.path) / "migrations").glob("*.py")):
            digest.update(f"{app.label}/{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
