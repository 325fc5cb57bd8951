"""What lies in the folder of indexes: stores, and the versions over them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from core.errors import UserError
from retrieval.index.versions import index_root
from retrieval.models import IndexVersion
from retrieval.vectors.folder import IDENTITY
from retrieval.vectors.shards import REBUILD, Identity, Shard, complete_shards


@dataclass(frozen=True)
class Store:
    folder: Path
    identity: Identity
    shards: list[Shard]
    malformed: list[Path]  # records of none of its shards
    versions: list[IndexVersion]  # over its shards

    @property
    def vectors(self) -> int:
        return sum(shard.pairs for shard in self.shards)

    @property
    def bytes(self) -> int:
        return sum(shard.bytes for shard in self.shards)


def stores() -> list[Store]:
    """In the order of their names."""
    return [_store(path.parent) for path in sorted(index_root().glob(f"stores/*/{IDENTITY}"))]


def made_here() -> list[IndexVersion]:
    """Versions over shards, the one chosen last at the end; those of an older Quorum are none."""
    versions = IndexVersion.objects.select_related("corpus").order_by("chosen_at", "pk")
    return [one for one in versions if "store" in one.manifest]


def _store(folder: Path) -> Store:
    try:
        identity = Identity(**json.loads((folder / IDENTITY).read_bytes()))
    except (ValueError, TypeError) as error:
        raise UserError(
            f"{folder / IDENTITY} does not say what the store is: {REBUILD}."
        ) from error
    shards, malformed = complete_shards(folder, identity)
    over = [version for version in made_here() if version.manifest["store"] == asdict(identity)]
    return Store(folder, identity, shards, malformed, over)
