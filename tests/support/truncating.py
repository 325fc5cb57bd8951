"""TRUNCATE of a table that must never be emptied, as it is outside of the tests' databases."""

from django.db import connection, transaction


def truncate(table: str) -> None:
    """With the trigger on that conftest has turned off: a refusal turns it off again."""
    connection.check_constraints()  # PostgreSQL alters no table for which a check still waits
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER {table}_never_emptied")
        cursor.execute(f"TRUNCATE {table} CASCADE")
