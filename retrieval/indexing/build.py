"""Building the index: shards of vectors for what has none, then a version over them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import UserError
from core.progress import Progress, no_progress
from retrieval.encoders.lazy import chosen_device, load_encoder
from retrieval.index.choice import Choice
from retrieval.index.port import VectorIndex
from retrieval.index.recall import Recall, as_new, measure
from retrieval.index.versions import (
    WITHDRAWN,
    choose,
    digest_of,
    index_root,
    newest_of,
    record,
    require_storable,
)
from retrieval.indexing.coverage import Coverage, cover, packed
from retrieval.indexing.distributed import spread
from retrieval.indexing.encode import encode_missing, identity_of
from retrieval.indexing.incremental import MadeIndex, ground, is_whole, make_index
from retrieval.indexing.plan import (
    AUTO,
    BuildOptions,
    BuildRequest,
    choice_of,
    pairs_encoder,
    precision_of,
)
from retrieval.models import Corpus, IndexForm, IndexVersion
from retrieval.models.corpus import pairs_of
from retrieval.registry.question_encoder import plain_model
from retrieval.vectors.folder import (
    REMOVED,
    complete,
    fresh_version,
    install,
    one_build,
    store_folder,
)
from retrieval.vectors.pair_keys import DatabasePairs, database_pairs, sampled, texts_of
from retrieval.vectors.remote import fetch_holding, publish
from retrieval.vectors.shards import Identity, Shard, sound_shards
from retrieval.vectors.store import VectorStore
from retrieval.vectors.types import Encoder, Mask, PairKeys, unpacked

# How many pairs will be encoded, and a sentence on what was chosen.
Announce = Callable[[int, str], object]

RECALL_SAMPLE = 500  # questions


def build_index(
    model: str,
    form: str,
    device: str = AUTO,
    progress: Progress = no_progress,
    *,
    corpus: Corpus | None = None,
    encoder: Encoder | None = None,
    options: BuildOptions | None = None,
    wait: bool = False,
    announce: Announce = lambda missing, choice: None,
    current: bool = True,
) -> IndexVersion:
    """Make the corpus's index of this model and form its current one; built only where it is new.

    Unless `current`, people go on searching the one that they had.

    Only pairs without a vector are encoded, whichever corpus they were encoded for before. A build
    that is stopped leaves its complete shards, and the next one goes on from them. `encoder`
    replaces the model named; `announce` is told how many pairs will be encoded and what was
    chosen, and `progress` counts them.
    """
    if form not in IndexForm.values:
        raise UserError(f"Unknown form {form!r}: choose {' or '.join(IndexForm.values)}.")
    if not pairs_of(corpus).filter(withdrawn_at=None).exists():
        where, into = (f"corpus {corpus}", f" --corpus {corpus}") if corpus else ("database", "")
        raise UserError(
            f"The {where} holds no q/a pairs: add some by `quorum corpus import FILE --source "
            f"NAME{into}`."
        )
    # The model first: a wrong name is refused before torch is imported to look for devices.
    of_questions = encoder or load_encoder(model, device)
    request = BuildRequest(
        model=model,
        form=form,
        device="cpu" if encoder and device == AUTO else chosen_device(device),
        options=options or BuildOptions(),
        encoder=of_questions,
        given=encoder is not None,
        corpus=corpus,
        current=current,
    )
    require_storable(request.encoder.name)
    with one_build(index_root(), wait=wait):
        return _build(request, progress, announce)


def _build(request: BuildRequest, progress: Progress, announce: Announce) -> IndexVersion:
    pairs = database_pairs(request.corpus)
    words = request.words() | {
        "database_digest": digest_of(pairs.keys),
        "pairs": len(pairs.keys),
        "pairs_seen": pairs.count,
    }
    if index := _unchanged(words, pairs.newest, request.corpus):
        return choose(index) if request.current else index
    choice = choice_of(request, len(pairs.keys))
    precision, why = precision_of(request, pairs.keys)
    identity = identity_of(request.encoder, request.form, choice.dtype)
    identity = replace(identity, precision=precision)
    folder = store_folder(index_root(), identity)
    coverage, before = _covered(folder, identity, choice.kind, pairs.keys, request.corpus)
    announce(len(coverage.missing), f"{choice.reason} Encoded in {precision}: {why}.")
    if len(coverage.missing):
        encoded = list(_encoded(request, folder, identity, coverage.missing, progress))
        coverage = cover(
            folder, encoded, pairs.keys, first=coverage.shards, whole=before is not None
        )
        _require_all(coverage)
    if before is None:
        coverage = packed(folder, identity, coverage, pairs.keys)
    store = VectorStore(folder, identity, coverage.shards)
    made = _make_index(request, choice, store, coverage.removed, before, pairs.keys)
    facts = words | _facts(store, made) | {"versions": dict(request.encoder.versions)}
    facts |= {} if request.given else plain_model(request.encoder)
    return _write_version(made.index, coverage, pairs, facts, request)


def _require_all(coverage: Coverage) -> None:
    """A version holds every pair, by any encoders, or is not made."""
    if left := len(coverage.missing):
        raise UserError(
            f"{left:,} pairs have no vector after the encoding, because their shards are "
            "missing: run the command again."
        )


def _covered(
    folder: Path, identity: Identity, kind: str, keys: PairKeys, corpus: Corpus | None
) -> tuple[Coverage, IndexVersion | None]:
    """By whole shards here or where QUORUM_VECTORS says; and what the index can grow from."""
    shards, newest = sound_shards(folder, identity), newest_of(identity, corpus)
    coverage, before = ground(folder, shards, keys, newest, kind)
    if len(coverage.missing) and (fetched := fetch_holding(folder, identity, coverage.missing)):
        return ground(folder, [*shards, *fetched], keys, newest, kind)
    return coverage, before


def _encoded(
    request: BuildRequest, folder: Path, identity: Identity, missing: PairKeys, progress: Progress
) -> Iterator[Shard]:
    if request.options.spread:
        yield from spread(folder, identity, missing, model=request.model, progress=progress)
        return
    for shard in encode_missing(
        folder, identity, pairs_encoder(request, identity.precision), missing, progress
    ):
        publish(folder, shard)
        yield shard


def _make_index(
    request: BuildRequest,
    choice: Choice,
    store: VectorStore,
    removed: Mask,
    before: IndexVersion | None,
    keys: PairKeys,
) -> MadeIndex:
    """Refused where it finds less than was asked for."""

    def of_questions(index: VectorIndex) -> Recall:
        sample = sampled(keys, RECALL_SAMPLE)
        questions = [question for question, _ in texts_of(unpacked(sample))]
        own = store.positions_of(sample)
        queries = as_new(store, request.encoder.encode_questions(questions), own)
        return measure(index, store, queries, own, removed)

    wanted = request.options.recall
    made = make_index(choice, store, removed, before, of_questions, wanted)
    if made.recall is not None and not made.finds(wanted):
        raise UserError(
            f"The index of the kind {choice.kind} finds {made.recall.value:.4f} of the "
            f"{made.recall.at} nearest pairs of {made.recall.sample} questions, below the "
            f"{wanted:g} requested, and was discarded: lower --recall, or use --kind exact. The "
            "vectors are kept."
        )
    return made


def _facts(store: VectorStore, made: MadeIndex) -> dict[str, Any]:
    recall = made.recall
    return {
        "built_over": made.built_over,
        "dimension": store.identity.dimension,
        "kind": made.index.kind,
        "parameters": dict(made.index.parameters),
        "recall": recall and recall.value,
        "recall_measured": recall and asdict(recall),
        "shards": [asdict(shard) for shard in store.shards],
        "store": asdict(store.identity),
    }


def _write_version(
    index: VectorIndex,
    coverage: Coverage,
    pairs: DatabasePairs,
    facts: dict[str, Any],
    request: BuildRequest,
) -> IndexVersion:
    with fresh_version(index_root()) as folder:
        np.save(folder / REMOVED, np.flatnonzero(coverage.removed), allow_pickle=False)
        np.save(folder / WITHDRAWN, pairs.withdrawn, allow_pickle=False)
        index.save(folder)
        manifest = complete(folder, facts)
        path = install(folder, manifest)
        return record(path, manifest, pairs.newest, request.corpus, current=request.current)


def _unchanged(words: Mapping[str, Any], newest: int, corpus: Corpus | None) -> IndexVersion | None:
    """A version with all its files that was asked for in the same words, over just these pairs."""
    same = IndexVersion.objects.filter(
        corpus=corpus,
        form=words["form"],
        database_digest=words["database_digest"],
        newest_pair=newest,
    )
    for index in same.order_by("-chosen_at"):
        if words.items() <= index.manifest.items() and is_whole(index):
            return index
    return None
