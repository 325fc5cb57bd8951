"""The database that holds vectors: its connection, its extension, and what is wrong with them."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg2
from django.conf import settings
from psycopg2.extensions import connection as Connection
from psycopg2.extensions import cursor as Cursor

from core.errors import UserError

SCHEMA = "quorum_vectors"
OLDEST = (0, 8)  # the first whose scans go on until enough rows are allowed


def connect() -> Connection:
    """To the vectors' database, where pgvector is installed."""
    url = settings.VECTOR_DATABASE_URL
    if not url:
        raise UserError(
            "An index of the kind pgvector needs PostgreSQL, and the database here is SQLite: let "
            "QUORUM_DATABASE_URL or QUORUM_VECTOR_DATABASE_URL name one, or choose another kind."
        )
    try:
        connection = psycopg2.connect(url, application_name="quorum vectors", connect_timeout=10)
    except psycopg2.ProgrammingError as error:  # its words may hold the password
        raise UserError(
            "PostgreSQL understands no such address as that of QUORUM_VECTOR_DATABASE_URL, or of "
            "QUORUM_DATABASE_URL where that is not set: in a password write % as %25, and leave "
            "out options that libpq does not know."
        ) from error
    except psycopg2.OperationalError as error:
        raise UserError(
            f"The vectors' database cannot be reached ({_reason(error)}): check "
            "QUORUM_VECTOR_DATABASE_URL, or QUORUM_DATABASE_URL where that is not set."
        ) from error
    _require_extension(connection)
    return connection


@contextmanager
def transaction(connection: Connection) -> Iterator[Cursor]:
    try:
        with connection, connection.cursor() as cursor:
            yield cursor
    except psycopg2.Error as error:
        raise UserError(
            f"PostgreSQL could not do what the index of vectors asked of it ({_reason(error)}): "
            f"look at the server, and at the role's rights on the schema {SCHEMA}."
        ) from error


def server_address() -> str:
    """Without the password."""
    parts = urlsplit(settings.VECTOR_DATABASE_URL)
    return f"{parts.hostname or 'a local socket'}{parts.path}"


def _require_extension(connection: Connection) -> None:
    with transaction(connection) as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        row = cursor.fetchone()
    if row is None:
        raise UserError(
            f"The database at {server_address()} lacks pgvector: install it on the server and let "
            "a superuser run CREATE EXTENSION vector there, or choose another kind of index."
        )
    if tuple(int(part) for part in row[0].split(".")[:2]) < OLDEST:
        raise UserError(
            f"The database at {server_address()} has pgvector {row[0]}, an index needs 0.8 or "
            "newer: install that on the server and run ALTER EXTENSION vector UPDATE."
        )


def _reason(error: psycopg2.Error) -> str:
    return " ".join(str(error).split())[:300]
