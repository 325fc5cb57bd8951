"""The database as one file and back: SQLite's own copy, or PostgreSQL's programs."""

import errno
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg2.extensions import make_dsn

from core.errors import UserError
from core.files.disk_full import is_full
from core.progress import Progress

NAMES = {"sqlite": "database.sqlite3", "postgresql": "database.pgdump"}
PAGES = 4096  # copied at once
STEP = 1 << 20
# Debian keeps those of each version out of PATH.
DEBIAN = "/usr/lib/postgresql/*/bin"
# What is restored belongs to who restores it. Its extensions may belong to the server's owner, who
# alone can comment on them.
LOADING = ("--single-transaction", "--no-owner", "--no-privileges", "--no-comments")

Migrations = list[list[str]]


def dump(target: Path, progress: Progress) -> Migrations:
    """Copy it as it is at one moment, while others go on writing; the migrations that it has."""
    if connection.vendor == "sqlite":
        copy_sqlite(Path(str(connection.settings_dict["NAME"])), target, progress)
        with closing(sqlite3.connect(target)) as copy:
            return _sorted(copy.execute("SELECT app, name FROM django_migrations"))
    return _dump_postgresql(target, progress)


def load(dumped: Path) -> None:
    """All or nothing, also if this process is killed."""
    if connection.vendor == "sqlite":
        _load_sqlite(dumped)
        return
    command = [_program("pg_restore"), *LOADING, "--no-password", f"--dbname={_address()}"]
    # Read from here: where this process ends, the program has not read all, and takes all back.
    with dumped.open("rb") as file, _running(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        shutil.copyfileobj(file, process.stdin, STEP)


def require_programs() -> None:
    """Those that the database needs; told before anything is read."""
    if connection.vendor == "postgresql":
        _program("pg_dump")
        _program("pg_restore")


def copy_sqlite(source: Path, target: Path, progress: Progress) -> None:
    reported = 0

    def tell(_: int, left: int, pages: int) -> None:
        nonlocal reported
        progress((pages - left - reported) * size)
        reported = pages - left

    with (
        _words_for_sqlite(source, target),
        closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True, timeout=30)) as live,
        closing(sqlite3.connect(target)) as copy,
    ):
        live.isolation_level = None
        live.execute("BEGIN")
        # From here on it reads one state. Otherwise each write of another process starts it again.
        live.execute("SELECT 1 FROM sqlite_master").fetchone()
        [size] = live.execute("PRAGMA page_size").fetchone()
        live.backup(copy, pages=PAGES, progress=tell)


def _load_sqlite(dumped: Path) -> None:
    """Through SQLite, not by its file: a process that has the empty one open is not misled."""
    connection.ensure_connection()
    name = Path(str(connection.settings_dict["NAME"]))
    with _words_for_sqlite(dumped, name), closing(sqlite3.connect(dumped)) as source:
        source.backup(connection.connection)  # one transaction
    connection.close()


@contextmanager
def _words_for_sqlite(source: Path, target: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if is_full(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
        raise UserError(
            f"The database {source} cannot be copied to {target} ({error}): check both, and run "
            "the command again."
        ) from error


def _dump_postgresql(target: Path, progress: Progress) -> Migrations:
    program = _program("pg_dump")
    with transaction.atomic(), connection.cursor() as cursor, target.open("wb") as file:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        [snapshot] = cursor.fetchone()
        # Not packed: the archive is, by what is faster.
        options = ["--format=custom", "--compress=0", "--no-password", f"--snapshot={snapshot}"]
        command = [program, *options, f"--dbname={_address()}"]
        with _running(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            while step := process.stdout.read(STEP):
                file.write(step)
                progress(len(step))
        return _sorted(MigrationRecorder(connection).applied_migrations())


def _sorted(rows: Iterable[tuple[str, str]]) -> Migrations:
    return sorted([app, name] for app, name in rows)


@contextmanager
def _running(
    command: list[str], *, stdin: int | None = None, stdout: int | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """UserError where it fails; it ends with what reads or feeds it."""
    with tempfile.TemporaryFile() as errors:
        with (
            suppress(BrokenPipeError),  # it says why
            subprocess.Popen(  # noqa: S603 - our own words
                command, env=_environment(), stdin=stdin, stdout=stdout, stderr=errors
            ) as process,
        ):
            try:
                yield process
            except BrokenPipeError:
                pass
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            program = Path(command[0]).name
            raise UserError(f"{program} failed ({_last_line(errors)}): nothing was written.")


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").splitlines()
    errors_first = [line for line in lines if "error:" in line] or lines
    return errors_first[0].rstrip(". ") if errors_first else "it does not say why"


def _address() -> str:
    """Without the password, which every user of the machine could read in a list of processes."""
    mine = connection.settings_dict
    parts = {"dbname": mine["NAME"], "user": mine["USER"], "host": mine["HOST"]}
    given = {name: value for name, value in (parts | {"port": mine["PORT"]}).items() if value}
    return str(make_dsn(**given))


def _environment() -> dict[str, str]:
    password = str(connection.settings_dict["PASSWORD"])
    # As a server's language may be another one's, and its errors are read here.
    return os.environ | {"LC_ALL": "C"} | ({"PGPASSWORD": password} if password else {})


def _program(name: str) -> str:
    """UserError unless it is there and as new as the server."""
    server = connection.get_database_version()[0]
    places = sorted(glob.glob(DEBIAN), key=_number, reverse=True)
    path = shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))
    wanted = f"install PostgreSQL's client programs, version {server} or newer"
    if path is None:
        raise UserError(f"There is no program {name} here: {wanted} (Debian: postgresql-client).")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    if (version := _number(said.stdout)) < server:
        raise UserError(
            f"{name} is of version {version}, older than the server's {server}: {wanted}."
        )
    return path


def _number(text: str) -> int:
    match = re.search(r"\d+", text)
    return int(match[0]) if match else 0
