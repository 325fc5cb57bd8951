"""Which shards hold the vectors of the pairs, at which of their rows, and which pairs have none."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from retrieval.vectors.compact import compacted
from retrieval.vectors.shards import Identity, Shard, names, read_keys
from retrieval.vectors.types import Mask, PairKeys, Positions, positions_in


@dataclass(frozen=True)
class Coverage:
    shards: tuple[Shard, ...]
    # Rows of these shards that stand for no pair, or for one that an earlier row stands for.
    removed: Mask
    missing: PairKeys


def cover(
    folder: Path,
    shards: Sequence[Shard],
    keys: PairKeys,
    *,
    first: Sequence[Shard] = (),
    whole: bool = False,
) -> Coverage:
    """Of pairs given in the order of their keys. A shard that would add none is left out.

    The `first` come first, in their order, and with `whole` all of them; the others by the number
    of their pairs.
    """
    begun = set(names(first))
    others = [shard for shard in shards if shard.name not in begun]
    rows = {shard.name: _rows_of(folder, shard, keys) for shard in (*first, *others)}
    others.sort(key=lambda shard: (-int((rows[shard.name] >= 0).sum()), shard.name))
    covered = np.zeros(len(keys), np.bool_)
    chosen, removed = [], [np.zeros(0, np.bool_)]
    for shard in (*first, *others):
        at = rows.pop(shard.name)
        new = at >= 0
        new[new] = ~covered[at[new]]
        if new.any() or (whole and shard.name in begun):
            chosen.append(shard)
            removed.append(~new)
            covered[at[new]] = True
    return Coverage(tuple(chosen), np.concatenate(removed), keys[~covered])


def packed(folder: Path, identity: Identity, coverage: Coverage, keys: PairKeys) -> Coverage:
    """The same pairs, where need be in fewer shards with fewer removed rows."""
    shards = compacted(folder, identity, coverage.shards, ~coverage.removed)
    if tuple(shards) == coverage.shards:
        return coverage
    return cover(folder, shards, keys, first=shards)


def _rows_of(folder: Path, shard: Shard, keys: PairKeys) -> Positions:
    """The place of each row's pair among the keys; -1 for one that is not among them."""
    return positions_in(keys, read_keys(folder, shard))
