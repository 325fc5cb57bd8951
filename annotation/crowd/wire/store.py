"""The state on disk: one SQLite file, a connection for each thread, one writer at a time."""

import re
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from annotation.crowd.wire.errors import StartError
from annotation.crowd.wire.session import Clock, Session

BUSY_SECONDS = 30.0
# What a schema got later is made in files that are there too.
ADDITION = re.compile("^CREATE [A-Z ]+ IF NOT EXISTS|^INSERT OR IGNORE", re.MULTILINE)

SessionT = TypeVar("SessionT", bound=Session)


class Store(ABC, Generic[SessionT]):
    """What an emulator keeps: it names its schema, and says what falls due by time."""

    application_id: ClassVar[int]  # tells its files from other SQLite files
    version: ClassVar[int]
    schema: ClassVar[Path]
    # Of SQLite: with FULL, what was confirmed outlives a power cut.
    synchronous: ClassVar[str] = "NORMAL"

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        # SQLite's own lock is enough to be right; waiting here instead of there is faster.
        self._writer = threading.Lock()
        try:
            self._open()
        except (OSError, sqlite3.DatabaseError) as error:
            self.close()
            raise StartError(
                f"{path} cannot be used as the emulator's state ({error}): name another file."
            ) from error

    @abstractmethod
    def session(self, db: sqlite3.Connection, now: float) -> SessionT:
        """What the rules of this emulator need."""

    @abstractmethod
    def fill(self, session: SessionT) -> None:
        """The first rows of a new file."""

    @abstractmethod
    def is_due(self, session: SessionT) -> bool: ...

    @abstractmethod
    def sweep(self, session: SessionT) -> None:
        """Carry out all that has fallen due; every transaction that writes begins with it."""

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        db = self._connection()
        # Before anything is written: the file may be somebody else's database.
        if _has_tables(db) and _stamp(db) != (self.application_id, self.version):
            raise sqlite3.DatabaseError("it is not a state file of this version")
        db.execute("PRAGMA journal_mode = WAL")
        with self._transaction(db, "BEGIN IMMEDIATE") as session:
            is_new = not _has_tables(db)
            # executescript would commit first: the statements are run one by one instead.
            for statement in _statements(self.schema.read_text(encoding="utf-8")):
                if is_new or ADDITION.search(statement):
                    db.execute(statement)
            if is_new:
                self.fill(session)
                db.execute(f"PRAGMA application_id = {self.application_id}")
                db.execute(f"PRAGMA user_version = {self.version}")

    @contextmanager
    def reading(self) -> Iterator[SessionT]:
        db = self._connection()
        if self.is_due(self.session(db, self._now())):
            with self._writer:
                self._settle(db)
        with self._transaction(db, "BEGIN") as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[SessionT]:
        db = self._connection()
        with self._writer:
            self._settle(db)
            with self._transaction(db, "BEGIN IMMEDIATE") as session:
                self.sweep(session)  # what has fallen due in between
                yield session

    def _settle(self, db: sqlite3.Connection) -> None:
        """In a transaction of its own: what has fallen due stays when the call is refused."""
        if self.is_due(self.session(db, self._now())):
            with self._transaction(db, "BEGIN IMMEDIATE") as session:
                self.sweep(session)

    @contextmanager
    def _transaction(self, db: sqlite3.Connection, begin: str) -> Iterator[SessionT]:
        db.execute(begin)
        try:
            # The clock is read inside: writers see times in the order in which they write.
            yield self.session(db, self._now())
        except BaseException:
            db.rollback()
            raise
        db.commit()

    def _now(self) -> float:
        return round(self._clock(), 6)

    def _connection(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA foreign_keys = ON")
            db.execute(f"PRAGMA synchronous = {self.synchronous}")
            self._local.db = db
            self._connections.append(db)
        return db

    def close(self) -> None:
        for db in self._connections:
            db.close()
        self._connections.clear()
        self._local = threading.local()


def _has_tables(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master)").fetchone()[0])


def _stamp(db: sqlite3.Connection) -> tuple[int, int]:
    application: int = db.execute("PRAGMA application_id").fetchone()[0]
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return application, version


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
