"""Q/a pairs that no search may find any more, and those that may be found again."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core.errors import UserError
from core.files.rows import RowFault, read_rows, text_field
from retrieval.index.versions import restored_pairs
from retrieval.models import IndexVersion, QaPair
from retrieval.vectors.folder import rebuild_hint
from retrieval.vectors.pair_keys import LOOKUP

PAIR = ("pair", "pair_key")
# A pair's key, or its id in the database.
NAME = re.compile(r"[0-9a-f]{64}|[0-9]{1,18}")
KEY_LENGTH = 64
SHOWN = 3


@dataclass(frozen=True)
class Withdrawal:
    named: int
    changed: int  # the others were withdrawn, or not withdrawn, already


def withdraw_source(source: str, *, restore: bool = False) -> Withdrawal:
    return change([pairs_of_source(source)], restore=restore)


def withdraw_pairs(names: Sequence[str], *, restore: bool = False) -> Withdrawal:
    return change(pairs_named(names), restore=restore)


@transaction.atomic
def change(parts: Sequence[QuerySet[QaPair]], *, restore: bool) -> Withdrawal:
    named = sum(pairs.count() for pairs in parts)
    return Withdrawal(named, sum(_change(pairs, restore=restore) for pairs in parts))


def pairs_of_source(source: str) -> QuerySet[QaPair]:
    pairs = QaPair.objects.filter(source=source)
    if not pairs.exists():
        known = sorted(QaPair.objects.values_list("source", flat=True).distinct())
        raise UserError(
            f"There are no q/a pairs of a source {source!r}: the sources are "
            f"{', '.join(known) or 'none'}."
        )
    return pairs


def pairs_named(names: Sequence[str]) -> list[QuerySet[QaPair]]:
    """By their keys or by their ids in the database; UserError where one is unknown."""
    _require(NAME.fullmatch, names)
    parts = []
    for pairs, wanted in _lookups(names):
        ids = dict(pairs.values_list("pair_key", "pk"))
        _require((ids.keys() | {str(pk) for pk in ids.values()}).__contains__, wanted)
        parts.append(pairs)
    return parts


def restored_hint() -> str:
    """What to do next where the current index lacks pairs that have been restored; else empty."""
    index = IndexVersion.objects.order_by("chosen_at", "pk").last()
    lacking = 0
    # One of an older Quorum, or damaged, is refused for that.
    with suppress(OSError, EOFError, ValueError):
        lacking = restored_pairs(index) if index else 0
    if not (index and lacking):
        return ""
    return (
        f"{rebuild_hint(index.manifest)}: the index was made without {lacking:,} of the pairs "
        "restored, and no search finds them until then"
    )


def read_names(path: Path) -> list[str]:
    """Of pairs, one a line; or in the column `pair` of a csv, tsv or jsonl file."""
    names = []
    for row in read_rows(path, required=(PAIR,), plain_column="pair"):
        try:
            if row.fault:
                raise RowFault(row.fault)
            name = text_field(row, PAIR, limit=KEY_LENGTH)
            if not NAME.fullmatch(name):
                raise RowFault(f"{name!r} is neither a pair's key nor its id in the database")
        except RowFault as fault:
            raise UserError(
                f"Nothing was changed, line {row.line} of {path} names no pair: {fault}; correct "
                "or remove it."
            ) from fault
        names.append(name)
    return names


def _lookups(names: Sequence[str]) -> Iterator[tuple[QuerySet[QaPair], list[str]]]:
    """Pairs by their keys, then pairs by their ids; a statement's worth at a time."""
    distinct = sorted(set(names))
    keys = [name for name in distinct if len(name) == KEY_LENGTH]
    ids = [str(int(name)) for name in distinct if len(name) < KEY_LENGTH]
    for field, some in ("pair_key", keys), ("pk", ids):
        for start in range(0, len(some), LOOKUP):
            part = some[start : start + LOOKUP]
            yield QaPair.objects.filter(**{f"{field}__in": part}), part


def _require(known: Callable[[str], object], names: Sequence[str]) -> None:
    if unknown := [name for name in names if not known(name)]:
        more = ", ..." if len(unknown) > SHOWN else ""
        raise UserError(
            f"There are no q/a pairs {', '.join(unknown[:SHOWN])}{more}: name pairs by their keys "
            "or by their ids in the database; nothing was changed."
        )


def _change(pairs: QuerySet[QaPair], *, restore: bool) -> int:
    if restore:
        return pairs.filter(withdrawn_at__isnull=False).update(withdrawn_at=None)
    return pairs.filter(withdrawn_at=None).update(withdrawn_at=timezone.now())
