"""The expert labels of the triplets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import orjson

from annotation.models import Campaign, ExpertLabel
from core.text.collation import by_code_points
from exports.extract.pseudonyms import People
from exports.layout.files import GOLD
from retrieval.ranking.records import ID_LENGTH


class ExpertRow(NamedTuple):
    """An expert's label, in the order of COLUMNS."""

    query: str
    rank: int
    pair: str
    expert: str
    label: int
    blind_label: int | None
    source: str
    adjudicated: bool


COLUMNS = (
    "triplet__candidate__query__key",
    "triplet__candidate__rank",
    "triplet__candidate__pair__pair_key",
    "expert",
    "label",
    "blind_label",
    "source",
    "adjudicated",
)


def write_gold(campaigns: Sequence[Campaign], folder: Path, people: People) -> None:
    """By query, rank and expert; the experts by the digests that stand for them."""
    decides = campaigns[0].policy.adjudication == "decide"
    with (folder / GOLD).open("wb") as file:
        for _, labels in groupby(_expert_labels(campaigns), key=lambda row: (row.query, row.rank)):
            # By their names, the order would tell who is who.
            named = sorted((people.expert(row.expert), row) for row in labels)
            file.writelines(_line(expert, row, decides=decides) for expert, row in named)


def _expert_labels(campaigns: Sequence[Campaign]) -> Iterator[ExpertRow]:
    rows = ExpertLabel.objects.filter(triplet__campaign__in=campaigns)
    in_order = rows.order_by(by_code_points(COLUMNS[0]), COLUMNS[1])
    return map(ExpertRow._make, in_order.values_list(*COLUMNS).iterator())


def _line(expert: str, row: ExpertRow, *, decides: bool) -> bytes:
    values = {
        "query_id": row.query,
        "candidate_id": row.pair[:ID_LENGTH],
        "expert": expert,
        "label": row.label,
        "blind_label": row.blind_label,
        "source": row.source,
        **({"adjudicated": row.adjudicated} if decides else {}),
    }
    return orjson.dumps(values) + b"\n"
