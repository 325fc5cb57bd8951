"""Shards with few living rows are packed together: rows are copied, nothing is encoded again.

Without it, a store that grows a little every day would end in thousands of files, and one whose
pairs change would keep every vector it ever held.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from retrieval.vectors.shards import Identity, Shard, write_shard
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Mask

ROWS = 16_384  # of a packed shard


def compacted(folder: Path, identity: Identity, shards: Sequence[Shard], live: Mask) -> list[Shard]:
    """Shards that hold all living rows of these, `live` having a flag for each row.

    A shard without one is left out. The others are the same where packing would neither leave
    fewer shards nor halve what it touches. Old shards stay in the folder, for other versions.
    """
    ends = np.cumsum([shard.pairs for shard in shards])
    masks = dict(zip((s.name for s in shards), np.split(live, ends[:-1]), strict=True))
    alive = [shard for shard in shards if masks[shard.name].any()]
    thin = [shard for shard in alive if _is_thin(shard, int(masks[shard.name].sum()))]
    living = sum(int(masks[shard.name].sum()) for shard in thin)
    fewer = -(-living // ROWS) < len(thin)
    if not fewer and 2 * living >= sum(shard.pairs for shard in thin):
        return alive
    packed = _packed(folder, identity, thin, np.concatenate([masks[s.name] for s in thin]))
    return [*(shard for shard in alive if shard not in thin), *packed]


def _is_thin(shard: Shard, living: int) -> bool:
    return 2 * living < ROWS or 2 * living < shard.pairs


def _packed(folder: Path, identity: Identity, shards: Sequence[Shard], live: Mask) -> list[Shard]:
    """Their living rows in the order of the keys, in full shards and a rest."""
    store = VectorStore(folder, identity, shards)
    rows = np.flatnonzero(live)
    rows = rows[np.argsort(store.keys[rows])]
    parts = [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)]
    return [write_shard(folder, identity, store.keys[part], store.rows(part)) for part in parts]
