"""Which index is the current one, and whether it still fits the database, setting and files."""

import hashlib
from dataclasses import asdict
from pathlib import Path

import numpy as np
from django.conf import settings
from django.db.models import Max, QuerySet
from django.utils import timezone

from core.errors import UserError
from core.text.clean import is_utf8
from retrieval.models import IndexVersion, QaPair
from retrieval.registry.registry import registered_at
from retrieval.vectors.folder import Manifest, rebuild_hint, verify
from retrieval.vectors.pair_keys import withdrawn_keys
from retrieval.vectors.shards import Identity
from retrieval.vectors.types import PairKeys, positions_in

WITHDRAWN = "withdrawn.npy"  # keys of the pairs that were withdrawn when the version was made


def digest_of(keys: PairKeys) -> str:
    """Of a set of pairs, from their keys in order."""
    return hashlib.sha256(keys.view(np.uint8).data).hexdigest()


def chosen_index() -> IndexVersion:
    """What `quorum index build` made or found last, unchecked."""
    index = IndexVersion.objects.order_by("-chosen_at", "-pk").first()
    if index is None:
        raise UserError("There is no index yet: run `quorum index build`.")
    return index


def newest_first(form: str) -> QuerySet[IndexVersion]:
    """By when they were chosen; those of an older Quorum, which had no shards, are left out."""
    versions = IndexVersion.objects.filter(form=form, manifest__has_key="store")
    return versions.order_by("-chosen_at", "-pk")


def newest_of(identity: Identity) -> IndexVersion | None:
    """The version of this store that was chosen last."""
    versions = newest_first(identity.form)
    same = (index for index in versions if index.manifest["store"] == asdict(identity))
    return next(same, None)


def current_index() -> IndexVersion:
    """The index chosen last; refused where it no longer fits the database, setting or files."""
    index = chosen_index()
    if index.model_setting != settings.ENCODER_MODEL:
        raise UserError(
            f"The encoder setting changed from {index.model_setting} to {settings.ENCODER_MODEL} "
            "since the index was made: run `quorum index build`."
        )
    if "store" not in index.manifest:
        raise UserError(
            f"The index was made by an older version of Quorum: {rebuild_hint(index.manifest)}."
        )
    require_no_new_pairs(index)
    verify(index_root(), index.path, index.manifest)
    require_no_restored_pairs(index)
    return index


def require_no_new_pairs(index: IndexVersion) -> None:
    """Pairs are added and withdrawn, never changed or deleted; those withdrawn are left out."""
    # Apart: a count alone is several times faster than one beside another figure.
    pairs, newest = QaPair.objects.count(), QaPair.objects.aggregate(newest=Max("pk"))["newest"]
    if (pairs, newest) != (index.manifest["pairs_seen"], index.newest_pair):
        raise UserError(
            f"The q/a pairs have changed since the index was made "
            f"({index.manifest['pairs_seen']:,} then, {pairs:,} now): "
            f"{rebuild_hint(index.manifest)}."
        )


def require_no_restored_pairs(index: IndexVersion) -> None:
    if back := restored_pairs(index):
        raise UserError(
            f"{back:,} q/a pairs that were withdrawn when the index was made have been restored: "
            f"{rebuild_hint(index.manifest)}."
        )


def restored_pairs(index: IndexVersion) -> int:
    """How many the index lacks: they were withdrawn when it was made, and are not any more."""
    then = np.load(folder_of(index) / WITHDRAWN, allow_pickle=False)
    return int((positions_in(withdrawn_keys(), then) < 0).sum()) if len(then) else 0


def require_storable(model: str) -> None:
    """The names that `record` will write; told before hours of encoding, not after."""
    for name in (model, settings.ENCODER_MODEL):
        if len(name) > IndexVersion.MAX_MODEL or not is_utf8(name):
            raise UserError(
                f"The model {name[:60]!r} cannot be recorded, a name or path has at most "
                f"{IndexVersion.MAX_MODEL} characters in UTF-8: move it to a shorter path."
            )


def record(path: str, manifest: Manifest, newest: int) -> IndexVersion:
    names = ("model", "form", "kind", "dimension", "pairs", "recall", "database_digest")
    facts = {name: manifest[name] for name in names}
    facts |= {"manifest": manifest, "newest_pair": newest}
    facts |= {"trained": registered_at(manifest["model"])}
    index, _ = IndexVersion.objects.update_or_create(path=path, defaults=facts | _choice())
    return index


def choose(index: IndexVersion) -> IndexVersion:
    for name, value in _choice().items():
        setattr(index, name, value)
    index.save(update_fields=list(_choice()))
    return index


def index_root() -> Path:
    return Path(settings.INDEX_DIR)


def folder_of(index: IndexVersion) -> Path:
    return index_root() / "versions" / index.path


def _choice() -> dict[str, object]:
    return {"chosen_at": timezone.now(), "model_setting": settings.ENCODER_MODEL}
