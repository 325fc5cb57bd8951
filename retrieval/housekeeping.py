"""What lies in the folder of indexes: listed, and read again in full."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from retrieval.errors import UserError
from retrieval.models import IndexVersion
from retrieval.progress import Progress, no_progress
from retrieval.store.folder import IDENTITY, files_of_all, rebuild_hint, require_manifest, shards_of
from retrieval.store.remote import fetch_missing
from retrieval.store.shards import REBUILD, Identity, Shard, complete_shards
from retrieval.store.verified import Facts, verify_files
from retrieval.versions import folder_of, index_root


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
    return [
        one for one in IndexVersion.objects.order_by("chosen_at", "pk") if "store" in one.manifest
    ]


def damaged(progress: Progress = no_progress) -> Iterator[str]:
    """A sentence for each file that is not the one recorded; `progress` counts bytes.

    Every file is read, whatever was found sound before.
    """
    for store in stores():
        hint = rebuild_hint(asdict(store.identity))
        yield from (
            f"{path} is no record of a shard of this store: {hint}." for path in store.malformed
        )
        needed = [shard for version in store.versions for shard in shards_of(version.manifest)]
        fetch_missing(store.folder, needed)
        files = files_of_all([*store.shards, *needed])
        yield from _damaged_files(store.folder, files, hint, progress)
    for version in made_here():
        try:
            require_manifest(index_root(), version.path, version.manifest)
        except UserError as error:
            yield str(error)
        hint = rebuild_hint(version.manifest)
        yield from _damaged_files(folder_of(version), version.manifest["files"], hint, progress)


def bytes_to_read() -> int:
    of_versions = (files for version in made_here() for files in version.manifest["files"].values())
    return sum(store.bytes for store in stores()) + sum(
        int(facts["bytes"]) for facts in of_versions
    )


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


def _damaged_files(
    folder: Path, files: dict[str, Facts], hint: str, progress: Progress
) -> Iterator[str]:
    for name, facts in files.items():
        try:
            verify_files(folder, {name: facts}, hint, again=True)
        except UserError as error:
            yield str(error)
        progress(int(facts["bytes"]))
