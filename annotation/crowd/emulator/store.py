"""What the emulator of MTurk keeps."""

import secrets
import sqlite3
from pathlib import Path

from annotation.crowd.emulator.state import lifecycle, money, qualifications
from annotation.crowd.wire import store
from annotation.crowd.wire.session import Clock, Session


class Store(store.Store[Session]):
    """A new file starts with `balance_cents` and charges MTurk's fees, or none.

    An existing one goes on with what it has.
    """

    application_id = 0x4D54524B  # "MTRK"
    version = 3
    schema = Path(__file__).with_name("schema.sql")

    def __init__(
        self, path: Path, *, balance_cents: int, clock: Clock, charges_fees: bool = True
    ) -> None:
        self._balance_cents = balance_cents
        self._charges_fees = charges_fees
        super().__init__(path, clock=clock)

    def session(self, db: sqlite3.Connection, now: float) -> Session:
        return Session(db, now)

    @property
    def secret(self) -> bytes:
        """Signs what the server hands out and takes back; kept, so that it outlives a restart."""
        row = self._connection().execute("SELECT value FROM meta WHERE name = 'secret'").fetchone()
        return bytes.fromhex(row[0])

    def fill(self, session: Session) -> None:
        session.db.execute("INSERT INTO meta VALUES ('secret', ?)", (secrets.token_hex(32),))
        session.db.execute("INSERT INTO meta VALUES ('fees', ?)", (str(int(self._charges_fees)),))
        qualifications.create_system_types(session)
        money.deposit(session, self._balance_cents)

    def is_due(self, session: Session) -> bool:
        return lifecycle.is_due(session)

    def sweep(self, session: Session) -> None:
        lifecycle.sweep(session)
