"""Which index is the current one, and whether it still fits the database, setting and files."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.db.models import Count, Max
from django.utils import timezone

from retrieval.errors import UserError
from retrieval.models import IndexVersion, QaPair
from retrieval.store.folder import Manifest, rebuild_hint, verify
from retrieval.text import is_utf8


def digest_of(pair_keys: Iterable[str]) -> str:
    """Of a set of pairs, from their keys in order."""
    digest = hashlib.sha256()
    for key in pair_keys:
        digest.update(bytes.fromhex(key))
    return digest.hexdigest()


def database_digest() -> str:
    """Of the pairs that are not withdrawn."""
    pairs = QaPair.objects.filter(withdrawn_at=None).order_by("pair_key")
    return digest_of(pairs.values_list("pair_key", flat=True).iterator())


def newest_pair() -> int:
    return QaPair.objects.aggregate(newest=Max("pk"))["newest"] or 0


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
    require_no_new_pairs(index)
    verify(index_root(), index.path, index.manifest)
    return index


def require_no_new_pairs(index: IndexVersion) -> None:
    """Pairs are added and withdrawn, never changed or deleted; those withdrawn are left out."""
    found = QaPair.objects.aggregate(pairs=Count("pk"), newest=Max("pk"))
    if (found["pairs"], found["newest"]) != (index.manifest["pairs_seen"], index.newest_pair):
        raise UserError(
            f"The q/a pairs have changed since the index was made "
            f"({index.manifest['pairs_seen']:,} then, {found['pairs']:,} now): "
            f"{rebuild_hint(index.manifest)}."
        )


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
