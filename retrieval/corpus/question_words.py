"""Pairs by the words of their questions, of which PostgreSQL has an index (`question_words`)."""

import re
from collections.abc import Sequence

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from psycopg2.errors import QueryCanceled

from retrieval.models import QaPair

KNOWN = re.compile(r"[^\W_]{3}")  # the index knows letters and digits, three at a time
MOST_MS = 500  # words that are frequent each, but seldom together, may take seconds


def pks_with(words: Sequence[str], most: int) -> list[int] | None:
    """Whose questions have all the words; None: an index does not help, or there are too many.

    Of words that the index does not know, only what the others leave is read.
    """
    known = [word for word in words if KNOWN.search(word)]
    if connection.vendor != "postgresql" or not known:
        return None
    pks = _by_index(known, most + 1)
    if pks is None or len(pks) > most:
        return None
    others = [word for word in words if word not in known]
    return list(with_words(others, QaPair.objects.filter(pk__in=pks))) if others else pks


def _by_index(words: Sequence[str], most: int) -> list[int] | None:
    """None: it takes too long."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = %s", [MOST_MS])
            pks = list(with_words(words, QaPair.objects.all())[:most])
            transaction.set_rollback(True)  # which takes the limit back
            return pks
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        return None


def with_words(words: Sequence[str], pairs: QuerySet[QaPair]) -> QuerySet[QaPair, int]:
    """Primary keys of those of the pairs whose questions have all the words."""
    for word in words:
        pairs = pairs.filter(question__icontains=word)
    return pairs.order_by().values_list("pk", flat=True)
