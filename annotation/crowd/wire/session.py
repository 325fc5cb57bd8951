"""What a rule needs to do its work: the database inside a transaction, and the time."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
Row = sqlite3.Row


@dataclass(frozen=True)
class Session:
    db: sqlite3.Connection
    now: float  # seconds since 1970, one reading of the clock for the whole transaction
