"""Clearing away what no kept version of an index needs; what lies on S3 stays there.

Kept are, of each corpus, the current version and of each form the one that was chosen last for the
same model; and those that query sets were retrieved with.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from retrieval.index.lazy import engine_class
from retrieval.index.lexical.bm25_index import lexical_folder
from retrieval.index.versions import current_indexes, folder_of, index_root
from retrieval.indexing.inventory import made_here, stores
from retrieval.models import EncodingJob, IndexVersion
from retrieval.models.index import ENGINES
from retrieval.vectors.folder import one_build, shards_of
from retrieval.vectors.unfinished_files import clear_unfinished

FOLDERS = ("versions", "lexical")


@dataclass(frozen=True)
class Pruning:
    kept: list[IndexVersion]
    versions: list[IndexVersion]
    folders: list[Path]  # theirs, of their words, and of versions that the database does not know
    files: list[Path]  # of shards; the record of each comes first
    bytes: int


def prune(*, dry_run: bool) -> Pruning:
    """UserError while an index is being built."""
    with one_build(index_root()), one_build(index_root() / "lexical"):
        plan = pruning()
        if not dry_run:
            _execute(plan)
    return plan


def pruning() -> Pruning:
    """What would be cleared now."""
    kept = _kept()
    whole = {folder_of(version) for version in kept} | {lexical_folder(version) for version in kept}
    there = [path for inside in FOLDERS for path in sorted((index_root() / inside).glob("*/"))]
    folders = [path for path in there if path.is_dir() and path not in whole]
    files = list(_unneeded_files(kept))
    inside = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return Pruning(
        kept,
        versions=[version for version in made_here() if version not in kept],
        folders=folders,
        files=files,
        bytes=sum(path.stat().st_size for path in (*files, *inside)),
    )


def renewed() -> set[IndexVersion]:
    """Of each corpus the current version, and the last of each form for its model: `quorum index
    build` makes any of them again that is damaged."""
    made = made_here()
    kept = set()
    for current in current_indexes():
        model = current.manifest.get("model_fingerprint")
        same = (
            one
            for one in made
            if one.corpus == current.corpus and one.manifest["model_fingerprint"] == model
        )
        kept |= {current, *{one.form: one for one in same}.values()}
    return kept


def _kept() -> list[IndexVersion]:
    wanted = renewed() | set(IndexVersion.objects.filter(query_sets__isnull=False))
    return [version for version in made_here() if version in wanted]


def _unneeded_files(kept: list[IndexVersion]) -> Iterator[Path]:
    """Also what has no record, from processes that were killed."""
    needed = {shard.name for version in kept for shard in shards_of(version.manifest)}
    running = EncodingJob.objects.filter(state=EncodingJob.State.RUNNING)
    in_use = set(running.values_list("store", flat=True))
    since = max(current.chosen_at for current in current_indexes()).timestamp()
    for store in stores():
        if store.folder.name in in_use:
            continue
        # Records before what they complete.
        for path in sorted(store.folder.glob("shard-*"), key=lambda path: (path.suffix, path)):
            # What came since may be of a build that was stopped and will be run again.
            if path.name.partition(".")[0] not in needed and path.stat().st_mtime < since:
                yield path


def _execute(plan: Pruning) -> None:
    """Killed anywhere, it leaves nothing that the next one would not find."""
    for kind in ENGINES:
        if tables := _tables(plan.versions, kind) - _tables(plan.kept, kind):
            engine_class(kind).drop(tables)
    for version in plan.versions:
        version.delete()
    for folder in plan.folders:
        shutil.rmtree(folder)
    for path in plan.files:
        path.unlink()
    for store in stores():
        clear_unfinished(store.folder)
        if not store.versions and not any(store.folder.glob("shard-*")):
            shutil.rmtree(store.folder)


def _tables(versions: Sequence[IndexVersion], kind: str) -> set[str]:
    """Of vectors in an engine; versions share them."""
    parameters = (one.manifest["parameters"] for one in versions if one.kind == kind)
    return {named["table"] for named in parameters}
