"""Which index is the current one, and whether it still fits the database, setting and files."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from django.conf import settings
from django.utils import timezone
from numpy.typing import NDArray

from retrieval.errors import UserError
from retrieval.models import IndexVersion, QaPair
from retrieval.store import Manifest, rebuild_hint, verify
from retrieval.text import is_utf8


@dataclass(frozen=True)
class IndexedPairs:
    """What the database says of each position of the index."""

    ids: NDArray[np.int64]
    held_out: NDArray[np.bool_]


def digest_of(pair_keys: Iterable[str]) -> str:
    """Of a set of pairs, from their keys in order."""
    digest = hashlib.sha256()
    for key in pair_keys:
        digest.update(bytes.fromhex(key))
    return digest.hexdigest()


def database_digest() -> str:
    keys = QaPair.objects.order_by("pair_key").values_list("pair_key", flat=True)
    return digest_of(keys.iterator())


def chosen_index() -> IndexVersion:
    """What `manage.py index` made or found last, unchecked."""
    index = IndexVersion.objects.order_by("-chosen_at", "-pk").first()
    if index is None:
        raise UserError("There is no index yet: run `manage.py index`.")
    return index


def current_index() -> IndexVersion:
    """The index chosen last; refused where it no longer fits the database, setting or files."""
    index = chosen_index()
    if index.model_setting != settings.ENCODER_MODEL:
        raise UserError(
            f"The encoder setting changed from {index.model_setting} to {settings.ENCODER_MODEL} "
            "since the index was made: run `manage.py index`."
        )
    require_same_pairs(index, database_digest())
    verify(folder_of(index), index.manifest)
    return index


def require_same_pairs(index: IndexVersion, digest: str) -> None:
    if digest != index.database_digest:
        raise UserError(
            f"The q/a pairs have changed since the index was made ({index.pairs:,} then, "
            f"{QaPair.objects.count():,} now): {rebuild_hint(index.manifest)}."
        )


def require_storable(model: str) -> None:
    """The names that `record` will write; told before hours of encoding, not after."""
    for name in (model, settings.ENCODER_MODEL):
        if len(name) > IndexVersion.MAX_MODEL or not is_utf8(name):
            raise UserError(
                f"The model {name[:60]!r} cannot be recorded, a name or path has at most "
                f"{IndexVersion.MAX_MODEL} characters in UTF-8: move it to a shorter path."
            )


def intact_index(model: str, fingerprint: str, form: str) -> IndexVersion | None:
    """An index of this model over just the pairs of now, with all its files."""
    same = IndexVersion.objects.filter(model=model, form=form, database_digest=database_digest())
    for index in same.order_by("-chosen_at"):
        if index.manifest["model_fingerprint"] == fingerprint:
            try:
                verify(folder_of(index), index.manifest)
            except UserError:
                continue
            return index
    return None


def record(path: str, manifest: Manifest) -> IndexVersion:
    facts = {key: manifest[key] for key in ("model", "form", "dimension", "pairs")}
    facts |= {"database_digest": manifest["database_digest"], "manifest": manifest}
    index, _ = IndexVersion.objects.update_or_create(path=path, defaults=facts | _choice())
    return index


def choose(index: IndexVersion) -> IndexVersion:
    for name, value in _choice().items():
        setattr(index, name, value)
    index.save(update_fields=list(_choice()))
    return index


def indexed_pairs(index: IndexVersion, question_keys: set[str]) -> IndexedPairs:
    """Each position's pair, and whether its question is one of those held out."""
    rows = QaPair.objects.order_by("pair_key").values_list("pk", "pair_key", "question_key")
    ids: list[int] = []
    keys: list[str] = []
    held_out: list[bool] = []
    for pk, pair_key, question_key in rows.iterator():
        ids.append(pk)
        keys.append(pair_key)
        held_out.append(question_key in question_keys)
    # Read in one go: positions and ids belong together even if somebody ingests meanwhile.
    require_same_pairs(index, digest_of(keys))
    return IndexedPairs(np.array(ids, np.int64), np.array(held_out, np.bool_))


def folder_of(index: IndexVersion) -> Path:
    return Path(settings.INDEX_DIR) / index.path


def _choice() -> dict[str, object]:
    return {"chosen_at": timezone.now(), "model_setting": settings.ENCODER_MODEL}
