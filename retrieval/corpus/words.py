"""Pairs by the words of their questions, of which PostgreSQL has an index (`question_words`)."""

from collections.abc import Sequence

from django.db import connection

from retrieval.models import QaPair

SHORTEST = 3  # letters that the index knows together


def pairs_with(words: Sequence[str], most: int) -> list[int] | None:
    """Whose questions have all the words; None: an index does not help, or there are more."""
    if connection.vendor != "postgresql" or max(map(len, words)) < SHORTEST:
        return None
    pairs = QaPair.objects.order_by()
    for word in words:
        pairs = pairs.filter(question__icontains=word)
    pks = list(pairs.values_list("pk", flat=True)[: most + 1])
    return pks if len(pks) <= most else None
