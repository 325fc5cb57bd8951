"""Which index is the current one, and whether it still fits the database, setting and files."""

import hashlib
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from django.conf import settings
from django.db.models import Max, QuerySet
from django.utils import timezone

from core.errors import UserError
from core.text.clean import is_utf8
from retrieval.models import Corpus, IndexVersion, QaPair
from retrieval.models.corpus import pairs_of, sources_of
from retrieval.registry.registry import registered_at
from retrieval.vectors.folder import Manifest, rebuild_hint, verify
from retrieval.vectors.pair_keys import withdrawn_keys, withdrawn_last
from retrieval.vectors.shards import Identity
from retrieval.vectors.types import PairKeys, packed, positions_in

NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # when an index was chosen that nobody chose
WITHDRAWN = "withdrawn.npy"  # keys of the pairs that were withdrawn when the version was made


def digest_of(keys: PairKeys) -> str:
    """Of a set of pairs, from their keys in order."""
    return hashlib.sha256(keys.view(np.uint8).data).hexdigest()


def chosen_index(corpus: Corpus | None = None) -> IndexVersion:
    """What `quorum index build` made or found last for the corpus, unchecked."""
    versions = IndexVersion.objects.filter(corpus=corpus).select_related("corpus")
    index = versions.order_by("-chosen_at", "-pk").first()
    if index is None and corpus is None:
        raise UserError("There is no index yet: run `quorum index build`.")
    if index is None:
        raise UserError(
            f"There is no index of the corpus {corpus} yet: run `quorum index build --corpus "
            f"{corpus}`."
        )
    return index


def current_indexes() -> list[IndexVersion]:
    """Of each corpus that has one, unchecked."""
    last: dict[int | None, IndexVersion] = {}
    for index in IndexVersion.objects.select_related("corpus").order_by("chosen_at", "pk"):
        last[index.corpus_id] = index
    return list(last.values())


def newest_first(form: str) -> QuerySet[IndexVersion]:
    """By when they were chosen; those of an older Quorum, which had no shards, are left out."""
    versions = IndexVersion.objects.filter(form=form, manifest__has_key="store")
    return versions.order_by("-chosen_at", "-pk")


def newest_of(identity: Identity, corpus: Corpus | None) -> IndexVersion | None:
    """The corpus's version of this store that was chosen last."""
    versions = newest_first(identity.form).filter(corpus=corpus)
    same = (index for index in versions if index.manifest["store"] == asdict(identity))
    return next(same, None)


def current_index(corpus: Corpus | None = None, *, fresh: bool = False) -> IndexVersion:
    """The corpus's index chosen last; refused where it no longer fits the setting or the files.

    It may lack pairs that have come since, unless it has to be `fresh`.
    """
    index = chosen_index(corpus)
    if index.model_setting != settings.ENCODER_MODEL:
        raise UserError(
            f"The encoder setting changed from {index.model_setting} to {settings.ENCODER_MODEL} "
            "since the index was made: run `quorum index build`."
        )
    if "store" not in index.manifest:
        raise UserError(
            f"The index was made by an older version of Quorum: {rebuild_hint(index.manifest)}."
        )
    verify(index_root(), index.path, index.manifest)
    if fresh:
        require_fresh(index)
    return index


def require_fresh(index: IndexVersion) -> None:
    """Pairs are added and withdrawn, never changed or deleted; those withdrawn are left out."""
    there = pairs_of(index.corpus)
    # Apart: a count alone is several times faster than one beside another figure.
    pairs, newest = there.count(), there.aggregate(newest=Max("pk"))["newest"]
    if (pairs, newest) != (index.manifest["pairs_seen"], index.newest_pair):
        raise UserError(
            f"The q/a pairs have changed since the index was made "
            f"({index.manifest['pairs_seen']:,} then, {pairs:,} now): "
            f"{rebuild_hint(index.manifest)}."
        )

    if back := restored_pairs(index):
        raise UserError(
            f"{back:,} q/a pairs that were withdrawn when the index was made have been restored: "
            f"{rebuild_hint(index.manifest)}."
        )


def restored_pairs(index: IndexVersion) -> int:
    """How many the index lacks: they were withdrawn when it was made, and are not any more."""
    then = np.load(folder_of(index) / WITHDRAWN, allow_pickle=False)
    return int((positions_in(withdrawn_keys(), then) < 0).sum()) if len(then) else 0


def left_pairs(index: IndexVersion) -> PairKeys:
    """Of sources that have left the corpus since: the index holds them, and no search may."""
    if index.corpus is None:
        return packed([])
    left = set(index.manifest["sources"]) - set(sources_of(index.corpus))
    pairs = QaPair.objects.filter(source__in=left) if left else QaPair.objects.none()
    return packed(list(pairs.values_list("pair_key", flat=True)))


def corpus_state(index: IndexVersion) -> tuple[object, ...]:
    """Another value once its corpus has other pairs, or fewer that may be found; cheap to ask."""
    newest = QaPair.objects.aggregate(newest=Max("pk"))["newest"]
    sources = sources_of(index.corpus) if index.corpus else []
    return newest, withdrawn_last(), sources


def living_pairs(corpus: Corpus | None) -> int:
    """That a search may find once they are indexed."""
    there = pairs_of(corpus)
    return there.count() - there.filter(withdrawn_at__isnull=False).count()


def require_storable(model: str) -> None:
    """The names that `record` will write; told before hours of encoding, not after."""
    for name in (model, settings.ENCODER_MODEL):
        if len(name) > IndexVersion.MAX_MODEL or not is_utf8(name):
            raise UserError(
                f"The model {name[:60]!r} cannot be recorded, a name or path has at most "
                f"{IndexVersion.MAX_MODEL} characters in UTF-8: move it to a shorter path."
            )


def record(
    path: str,
    manifest: Manifest,
    newest: int,
    corpus: Corpus | None = None,
    *,
    current: bool = True,
) -> IndexVersion:
    """`current`: whether it is chosen, too."""
    names = ("model", "form", "kind", "dimension", "pairs", "recall", "database_digest")
    facts = {name: manifest[name] for name in names}
    facts |= {"manifest": manifest, "newest_pair": newest, "corpus": corpus}
    facts |= {"trained": registered_at(manifest["model"])}
    if current:
        index, _ = IndexVersion.objects.update_or_create(path=path, defaults=facts | _choice())
    else:
        facts |= _choice() | {"chosen_at": NEVER}
        index, _ = IndexVersion.objects.get_or_create(path=path, defaults=facts)
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


def approximate(recall: float | None) -> str:
    """A sentence on the pairs that a search may miss; empty where it compares all."""
    if recall is None:
        return ""
    return f"The index finds {recall:.1%} of the nearest pairs, as was measured at its build."


def not_indexed(number: int) -> str:
    """A sentence on the pairs that a search could not find; empty where it found all."""
    if not number:
        return ""
    pairs, it = ("1 pair is", "it") if number == 1 else (f"{number:,} pairs are", "them")
    return f"{pairs} newer than the index: build it again to find {it}."
