"""Orders that all databases agree on, whatever their collation."""

from __future__ import annotations

from django.db import connection
from django.db.models.functions import Collate

BY_CODE_POINTS = {"postgresql": "C", "sqlite": "BINARY"}


def by_code_points(field: str) -> Collate:
    """As Python sorts text."""
    return Collate(field, BY_CODE_POINTS[connection.vendor])
