"""How near the queries of dev and test are to those of train, by clusters and at random.

For each query of dev and test, the highest Jaccard of character trigrams with any query of train.
One way is the release's own; the other places the released queries again, in splits of the same
sizes and by the same seed. Other kinds of nearness (vectors, a shared positive) do not show here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from annotation.protocol.estimates.split_sizes import HELD_OUT
from exports.layout.files import CAMPAIGN, PLACEMENTS, RELEASE
from exports.splits.shingles import incidence, nearest
from exports.splits.splits import SPLITS, WAYS, SplitError, SplitQuery, split_queries
from retrieval.ranking.records import read

MEASURE = "Jaccard of character trigrams"
BINS = 10
EDGES = tuple(number / BINS for number in range(BINS + 1))
DECIMALS = 4


@dataclass(frozen=True)
class _Released:
    """A query of the release."""

    split: str
    text: str
    query: SplitQuery


def similarity(folder: Path) -> dict[str, Any]:
    """The last bin of `counts` includes 1. A way that cannot be had of these queries, or leaves
    nothing to compare, has counts of 0."""
    placements = _placements(folder)
    released = _released(folder, placements)
    clusters = Counter(row["cluster"] for row in placements.values())
    return {
        "measure": MEASURE,
        "edges": list(EDGES),
        **{way: _histogram(released, _splits(folder, released, way)) for way in WAYS},
        "clusters_of_queries": len(clusters),
        "largest_cluster": max(clusters.values(), default=0),
    }


def _placements(folder: Path) -> dict[str, Mapping[str, Any]]:
    with (folder / PLACEMENTS).open("rb") as file:
        return {row["id"]: row for row in map(orjson.loads, file)}


def _released(folder: Path, placements: Mapping[str, Mapping[str, Any]]) -> list[_Released]:
    released = []
    for split in SPLITS:
        for record in read(folder / f"{split}.jsonl"):
            row = placements[record.id]
            query = SplitQuery(
                record.id,
                complete=row["complete"],
                answerable=any(candidate.label for candidate in record.candidates),
                cluster=row["cluster"],
            )
            released.append(_Released(split, record.query, query))
    return released


def _splits(folder: Path, released: Sequence[_Released], way: str) -> Sequence[str | None]:
    """Each query's, by the way."""
    own = [query.split for query in released]
    if orjson.loads((folder / RELEASE).read_bytes())["options"]["split"] == way or not own:
        return own
    sizes = Counter(own)
    try:
        placements = split_queries(
            [one.query for one in released],
            # Shares: the clusters need not make the very sizes.
            **{split: sizes[split] / len(own) for split in SPLITS},
            seed=orjson.loads((folder / CAMPAIGN).read_bytes())["seeds"]["split"],
            way=way,
            before={},
        )
    except SplitError:
        return [None] * len(own)
    return [placements[one.query.id].split for one in released]


def _histogram(released: Sequence[_Released], splits: Sequence[str | None]) -> dict[str, Any]:
    texts: dict[str, list[str]] = {"train": [], "held out": []}
    for query, split in zip(released, splits, strict=True):
        if split:
            texts["held out" if split in HELD_OUT else "train"].append(query.text)
    nearest = _nearest(texts["held out"], texts["train"])
    return {
        "n": len(nearest),
        "counts": np.histogram(nearest, EDGES)[0].tolist(),
        "mean": round(float(nearest.mean()), DECIMALS) if len(nearest) else None,
        "max": round(float(nearest.max()), DECIMALS) if len(nearest) else None,
    }


def _nearest(held_out: Sequence[str], train: Sequence[str]) -> NDArray[np.float64]:
    if not held_out or not train:
        return np.zeros(0)
    table = incidence([*held_out, *train])
    return nearest(table[: len(held_out)], table[len(held_out) :])
