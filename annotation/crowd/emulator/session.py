"""What a rule needs to do its work: the database inside a transaction, and the time."""

import secrets
import sqlite3
import string
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], float]
Row = sqlite3.Row

ID_ALPHABET = string.ascii_uppercase + string.digits
ID_LENGTH = 30


@dataclass(frozen=True)
class Session:
    db: sqlite3.Connection
    now: float  # seconds since 1970, one reading of the clock for the whole transaction


def new_id() -> str:
    number = secrets.randbelow(len(ID_ALPHABET) ** ID_LENGTH)
    characters = []
    for _ in range(ID_LENGTH):
        number, digit = divmod(number, len(ID_ALPHABET))
        characters.append(ID_ALPHABET[digit])
    return "".join(characters)
