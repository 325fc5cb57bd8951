"""The q/a pairs as arrays of keys, and their texts."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db.models import Count, Max

from core.errors import UserError
from retrieval.models import Corpus, QaPair
from retrieval.models.corpus import pairs_of
from retrieval.vectors.types import PairKeys, packed, positions_in

CHUNK = 50_000  # rows read at once
LOOKUP = 2_000  # keys or ids in one database query
SEED = 1


@dataclass(frozen=True)
class DatabasePairs:
    """The pairs at one moment: 32 bytes each, in the order of their keys."""

    keys: PairKeys
    withdrawn: PairKeys  # those left out of `keys`
    newest: int
    count: int  # of both


def database_pairs(corpus: Corpus | None = None) -> DatabasePairs:
    """Count, newest and keys come of one statement, so they fit each other: pairs never change.

    Sorted here: PostgreSQL would sort the texts of six million keys on its disk.
    """
    rows = pairs_of(corpus).values_list("pk", "pair_key").iterator(chunk_size=CHUNK)
    raw, newest = bytearray(), 0
    while chunk := list(itertools.islice(rows, CHUNK)):
        newest = max(newest, *(pk for pk, _ in chunk))
        raw += bytes.fromhex("".join(key for _, key in chunk))
    every = np.sort(np.frombuffer(raw, "S32"))
    withdrawn = withdrawn_keys()
    withdrawn = withdrawn[positions_in(every, withdrawn) >= 0]
    keys = every[positions_in(withdrawn, every) < 0]
    return DatabasePairs(keys, withdrawn, newest, len(every))


def withdrawn_keys() -> PairKeys:
    """In order. They stand in an index of their own, so the other pairs are not looked at."""
    rows = QaPair.objects.filter(withdrawn_at__isnull=False)
    return np.sort(packed(list(rows.values_list("pair_key", flat=True))))


def withdrawn_last() -> tuple[int, datetime | None]:
    """How many pairs are withdrawn, and since when the last of them: another value once one is
    withdrawn or restored, without listing them all."""
    rows = QaPair.objects.filter(withdrawn_at__isnull=False)
    totals = rows.aggregate(count=Count("withdrawn_at"), last=Max("withdrawn_at"))
    return totals["count"], totals["last"]


def sampled(keys: PairKeys, size: int) -> PairKeys:
    """Always the same of the same keys, in their order."""
    chosen = np.random.default_rng(SEED).choice(len(keys), min(size, len(keys)), replace=False)
    return keys[np.sort(chosen)]


def texts_of(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Question and answer of each pair, in the order of the keys."""
    texts: dict[str, tuple[str, str]] = {}
    for start in range(0, len(keys), LOOKUP):
        pairs = QaPair.objects.filter(pair_key__in=keys[start : start + LOOKUP])
        for key, question, answer in pairs.values_list("pair_key", "question", "answer"):
            texts[key] = (question, answer)
    if missing := len(keys) - len(texts):
        raise UserError(
            f"The q/a pairs changed while the index was made, {missing:,} are gone: run the "
            "command again."
        )
    return [texts[key] for key in keys]
