"""What a rule needs: the database inside a transaction, the time, and the readings that hold."""

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.wire import session
from annotation.crowd.wire.session import Row


@dataclass(frozen=True)
class Session(session.Session):
    readings: Readings

    def row(self, query: str, *values: object) -> Row | None:
        row: Row | None = self.db.execute(query, values).fetchone()
        return row

    def rows(self, query: str, *values: object) -> list[Row]:
        return self.db.execute(query, values).fetchall()

    def count(self, query: str, *values: object) -> int:
        number: int = self.db.execute(query, values).fetchone()[0]
        return number

    def insert(self, table: str, **values: object) -> None:
        """The names are ours, never a caller's."""
        marks = ", ".join("?" for _ in values)
        self.db.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})",  # noqa: S608
            tuple(values.values()),
        )


def new_id() -> str:
    return secrets.token_hex(12)


def iso(at: float | None) -> str | None:
    """As the API writes times."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def load(text: str) -> Any:
    return json.loads(text)
