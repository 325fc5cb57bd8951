"""What lies in the folder of indexes, read again in full, and what mends each damaged file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.index.versions import folder_of, index_root
from retrieval.indexing.inventory import Store, made_here, stores
from retrieval.indexing.prune import Pruning, pruning, renewed
from retrieval.models import IndexVersion
from retrieval.vectors.checksums import Facts, verify_files
from retrieval.vectors.folder import files_of_all, rebuild_hint, require_manifest, shards_of
from retrieval.vectors.remote import fetch_missing
from retrieval.vectors.shards import record_of

PRUNE = "`quorum index prune`"
RESTORE = "restore it from a backup, query sets were retrieved with it"


def damaged(progress: Progress = no_progress) -> Iterator[str]:
    """A sentence for each file that is not the one recorded; `progress` counts bytes.

    Every file is read, whatever was found sound before.
    """
    plan = pruning() if IndexVersion.objects.exists() else None
    for store in stores():
        needed = [shard for version in store.versions for shard in shards_of(version.manifest)]
        fetch_missing(store.folder, needed)
        files = files_of_all([*store.shards, *needed])
        hints = _hints_in(store, [*files, *(path.name for path in store.malformed)], plan)
        for path in store.malformed:
            yield f"{path} is no record of a shard of this store: {hints[path.name]}."
        yield from _damaged_files(store.folder, files, hints, progress)
    for version in made_here():
        hint = _hint(version, plan)
        try:
            require_manifest(index_root(), version.path, version.manifest, hint)
        except UserError as error:
            yield str(error)
        files = version.manifest["files"]
        yield from _damaged_files(folder_of(version), files, dict.fromkeys(files, hint), progress)


def bytes_to_read() -> int:
    of_versions = (files for version in made_here() for files in version.manifest["files"].values())
    return sum(store.bytes for store in stores()) + sum(
        int(facts["bytes"]) for facts in of_versions
    )


def _hints_in(store: Store, names: Iterable[str], plan: Pruning | None) -> dict[str, str]:
    """Of each file: what mends the version that needs its shard, or clears what none needs."""
    rebuild = rebuild_hint(asdict(store.identity))
    needing: dict[str, str] = {}
    kept = [version for version in store.versions if plan and version in plan.kept]
    # The last one counts: what `quorum index build` makes again needs no backup.
    for version in sorted(kept, key=lambda one: _hint(one, plan) != RESTORE):
        hint = _hint(version, plan)
        needing |= {shard.name: hint for shard in shards_of(version.manifest)}
    cleared = {path.name for path in plan.files} if plan else set()

    def hint_of(shard: str) -> str:
        if shard in needing or not plan:
            return needing.get(shard, rebuild)
        # What the next prune leaves may be of a build that was stopped: that goes on first.
        return f"run {PRUNE}" if record_of(shard) in cleared else f"{rebuild}, then {PRUNE}"

    return {name: hint_of(name.partition(".")[0]) for name in names}


def _hint(version: IndexVersion, plan: Pruning | None) -> str:
    if plan is None or version in renewed():
        return rebuild_hint(version.manifest)
    return RESTORE if version in plan.kept else f"run {PRUNE}"


def _damaged_files(
    folder: Path, files: Mapping[str, Facts], hints: Mapping[str, str], progress: Progress
) -> Iterator[str]:
    for name, facts in files.items():
        try:
            verify_files(folder, {name: facts}, hints[name], again=True)
        except UserError as error:
            yield str(error)
        progress(int(facts["bytes"]))
