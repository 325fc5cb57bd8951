"""Building the index: shards of vectors for what has none, then a version over them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.encode import database_keys, encode_missing, identity_of
from retrieval.errors import UserError
from retrieval.lazy import index_class, load_encoder
from retrieval.models import IndexForm, IndexKind, IndexVersion, QaPair
from retrieval.progress import Progress, no_progress
from retrieval.store.folder import (
    REMOVED,
    complete,
    fresh_version,
    install,
    one_build,
    store_folder,
    verify,
)
from retrieval.store.shards import Identity, Shard, sound_shards
from retrieval.store.store import VectorStore
from retrieval.vectors import Encoder, Mask, PairKeys, unpacked
from retrieval.versions import choose, digest_of, index_root, newest_pair, record, require_storable


@dataclass(frozen=True)
class BuildOptions:
    kind: str = IndexKind.EXACT
    dtype: str = "float32"


def build_index(
    model: str,
    form: str,
    device: str = "auto",
    progress: Progress = no_progress,
    *,
    encoder: Encoder | None = None,
    options: BuildOptions | None = None,
) -> IndexVersion:
    """Make the index of this model and form the current one; built only if there is none yet.

    Only pairs without a vector are encoded. A build that is stopped leaves its complete shards,
    and the next one goes on from them. `encoder` replaces the model named; `progress` counts pairs.
    """
    if form not in IndexForm.values:
        raise UserError(f"There is no form {form!r}: choose {' or '.join(IndexForm.values)}.")
    if not QaPair.objects.filter(withdrawn_at=None).exists():
        raise UserError(
            "The database holds no q/a pairs: add some by `manage.py ingest FILE --source NAME`."
        )
    options = options or BuildOptions()
    encoder = encoder or load_encoder(model, device)
    require_storable(encoder.name)
    with one_build(index_root()):
        return _build(encoder, identity_of(encoder, form, options.dtype), options, progress)


def _build(
    encoder: Encoder, identity: Identity, options: BuildOptions, progress: Progress
) -> IndexVersion:
    newest, seen = newest_pair(), QaPair.objects.count()
    keys = database_keys()
    digest = digest_of(unpacked(keys))
    if index := _intact(identity, options, digest):
        return choose(index)
    folder = store_folder(index_root(), identity)
    store = VectorStore(folder, identity, sound_shards(folder))
    missing = keys[store.positions_of(keys) < 0]
    made = list(encode_missing(folder, identity, encoder, missing, progress))
    store, removed = _over(folder, identity, [*store.shards, *made], keys)
    facts = {
        "database_digest": digest,
        "dimension": identity.dimension,
        "form": identity.form,
        "kind": options.kind,
        "model": identity.model,
        "model_fingerprint": identity.model_fingerprint,
        "pairs": len(keys),
        "pairs_seen": seen,
        "recall": None,
        "shards": [asdict(shard) for shard in store.shards],
        "store": asdict(identity),
        "versions": dict(encoder.versions),
    }
    return _write_version(store, removed, facts, newest)


def _over(
    folder: Path, identity: Identity, shards: Sequence[Shard], keys: PairKeys
) -> tuple[VectorStore, Mask]:
    """The store of these shards, and which of its rows are not the database's."""
    store = VectorStore(folder, identity, shards)
    removed = np.ones(len(store), np.bool_)
    removed[store.positions_of(keys)] = False
    return store, removed


def _write_version(
    store: VectorStore, removed: Mask, facts: dict[str, Any], newest: int
) -> IndexVersion:
    index = index_class(facts["kind"]).build(store, {})
    with fresh_version(index_root()) as folder:
        np.save(folder / REMOVED, np.flatnonzero(removed), allow_pickle=False)
        index.save(folder)
        manifest = complete(folder, {**facts, "parameters": dict(index.parameters)})
        return record(install(folder, manifest), manifest, newest)


def _intact(identity: Identity, options: BuildOptions, digest: str) -> IndexVersion | None:
    """A version of this store and kind over just the pairs of now, with all its files."""
    same = IndexVersion.objects.filter(
        form=identity.form, kind=options.kind, database_digest=digest
    )
    for index in same.order_by("-chosen_at"):
        if index.manifest["store"] == asdict(identity):
            try:
                verify(index_root(), index.path, index.manifest)
            except UserError:
                continue
            return index
    return None
