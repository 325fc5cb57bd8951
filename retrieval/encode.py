"""From the database's pairs to complete shards: only what no shard holds yet is encoded."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from retrieval.errors import UserError
from retrieval.models import IndexForm, QaPair
from retrieval.progress import Progress, no_progress
from retrieval.store.shards import Identity, Shard, write_shard
from retrieval.vectors import Encoder, PairKeys, Vectors, packed, unpacked

# What a killed build loses at most. 16,384 x 384 in float16 are 12.6 MB.
SHARD_PAIRS = 16_384
LOOKUP = 2_000  # keys in one database query


def identity_of(encoder: Encoder, form: str, dtype: str) -> Identity:
    return Identity(
        model=encoder.name,
        model_fingerprint=encoder.fingerprint,
        pooling=encoder.pooling,
        form=form,
        dimension=encoder.dimension,
        precision=encoder.precision,
        dtype=dtype,
    )


def encode_missing(
    folder: Path,
    identity: Identity,
    encoder: Encoder,
    missing: PairKeys,
    progress: Progress = no_progress,
) -> Iterator[Shard]:
    """Encode these pairs of the database, given in the order of their keys; a shard at a time."""
    for start in range(0, len(missing), SHARD_PAIRS):
        keys = unpacked(missing[start : start + SHARD_PAIRS])
        texts = texts_of(keys)
        vectors = encoded(encoder, identity.form, texts)
        yield write_shard(folder, identity, packed(keys), vectors)
        progress(len(keys))


def encoded(encoder: Encoder, form: str, texts: Sequence[tuple[str, str]]) -> Vectors:
    if form == IndexForm.QQA:
        return encoder.encode_pairs(texts)
    return encoder.encode_questions([question for question, _ in texts])


def texts_of(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Question and answer of each pair, in the order of the keys."""
    found: dict[str, tuple[str, str]] = {}
    for start in range(0, len(keys), LOOKUP):
        pairs = QaPair.objects.filter(pair_key__in=keys[start : start + LOOKUP])
        for key, question, answer in pairs.values_list("pair_key", "question", "answer"):
            found[key] = (question, answer)
    if missing := len(keys) - len(found):
        raise UserError(
            f"The q/a pairs changed while the index was made, {missing:,} are gone: run the "
            "command again."
        )
    return [found[key] for key in keys]


def database_keys() -> PairKeys:
    """Of all pairs that are not withdrawn, in order; 32 bytes a pair."""
    rows = QaPair.objects.filter(withdrawn_at=None).order_by("pair_key")
    keys = rows.values_list("pair_key", flat=True).iterator(chunk_size=50_000)
    raw = bytearray()
    for key in keys:
        raw += bytes.fromhex(key)
    return np.frombuffer(bytes(raw), "S32")
