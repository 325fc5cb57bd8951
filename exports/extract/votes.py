"""The valid votes on some triplets, as columns: there are more of them than of anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from annotation.models import Campaign
from annotation.pipeline.labelling.votes import valid_judgments
from core.text.collation import by_code_points
from exports.extract.hits import hit_number
from exports.layout.files import JUDGMENTS
from exports.layout.schemas import TABLES

Column = NDArray[np.int64]
ROWS = 10_000  # read at a time
COLUMNS = ("triplet_id", "worker_id", "value", "number")


@dataclass(frozen=True)
class Votes:
    """By the triplets' places, then by time of submission."""

    place: Column  # of the triplet in the list asked for
    position: Column  # among the votes on it, from 1
    worker: Column
    value: Column
    hit: Column
    cast: Sequence[int]  # how many votes, for each triplet
    yes: Sequence[int]  # how many of these for 1


class VoteStream:
    """Votes come by their triplets' keys; those that are not asked for yet wait here.

    Few do, as long as triplets are asked for about in the order in which they were made.
    """

    def __init__(self, campaigns: Sequence[Campaign]) -> None:
        votes = valid_judgments(*campaigns).annotate(
            number=hit_number(campaigns, "assignment__hit")
        )
        in_order = votes.order_by(
            "triplet_id", "assignment__submitted_at", by_code_points("assignment__crowd_id")
        )
        self._rows = in_order.values_list(*COLUMNS).iterator(chunk_size=ROWS)
        self._waiting = _array([])
        self._last = 0  # triplet whose votes may have been read
        self._ended = False

    def take(self, triplets: Sequence[int]) -> Votes:
        """Those on these triplets, each of which may be asked for once."""
        wanted = np.array(triplets, dtype=np.int64)
        while not self._ended and self._last <= max(triplets, default=0):
            self._read()
        mine = np.isin(self._waiting[:, 0], wanted)
        votes, self._waiting = self._waiting[mine], self._waiting[~mine]
        return _placed(votes, wanted)

    def _read(self) -> None:
        rows = list(islice(self._rows, ROWS))
        self._ended = len(rows) < ROWS
        if rows:
            self._last = rows[-1][0]
            self._waiting = np.concatenate([self._waiting, _array(rows)])


def _array(rows: Sequence[tuple[int, ...]]) -> Column:
    return np.array(rows, dtype=np.int64).reshape(-1, len(COLUMNS))


def _placed(votes: Column, triplets: Column) -> Votes:
    order = np.argsort(triplets)
    place = order[np.searchsorted(triplets, votes[:, 0], sorter=order)]
    # Stable: they have come in order of submission.
    by_place = np.argsort(place, kind="stable")
    place, (_, worker, value, hit) = place[by_place], votes[by_place].T
    cast = np.bincount(place, minlength=len(triplets))
    before = np.cumsum(cast) - cast
    return Votes(
        place=place,
        position=np.arange(1, len(place) + 1) - before[place],
        worker=worker,
        value=value,
        hit=hit,
        cast=cast.tolist(),
        yes=np.bincount(place[value == 1], minlength=len(triplets)).tolist(),
    )


def judgments(
    votes: Votes,
    *,
    query_ids: Sequence[str],
    candidate_ids: Sequence[str],
    ranks: Sequence[int],
    workers: Mapping[int, str],
) -> pa.Table:
    """Rows of the release's table; ids and ranks are those of the triplets, place by place."""
    people, person = np.unique(votes.worker, return_inverse=True)
    names = [workers[one] for one in people.tolist()]
    columns: dict[str, Any] = {
        "query_id": pa.array(query_ids, pa.string()).take(votes.place),
        "candidate_id": pa.array(candidate_ids, pa.string()).take(votes.place),
        "rank": np.array(ranks, dtype=np.int64)[votes.place],
        "position": votes.position,
        "worker": pa.array(names, pa.string()).take(person),
        "value": votes.value,
        "hit": votes.hit,
    }
    return pa.Table.from_pydict(columns, schema=TABLES[JUDGMENTS])
