"""From the database's pairs to complete shards: only what no shard holds yet is encoded."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.progress import Progress, no_progress
from retrieval.models import IndexForm
from retrieval.vectors.pair_keys import texts_of
from retrieval.vectors.shards import Identity, Shard, write_shard
from retrieval.vectors.types import Encoder, PairKeys, Vectors, packed, unpacked

# What a killed build loses at most. 16,384 x 384 in float16 are 12.6 MB.
SHARD_PAIRS = 16_384


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
        vectors = encoded(encoder, identity.form, texts, progress)
        yield write_shard(folder, identity, packed(keys), vectors)


def encoded(
    encoder: Encoder,
    form: str,
    texts: Sequence[tuple[str, str]],
    progress: Progress = no_progress,
) -> Vectors:
    if form == IndexForm.QQA:
        return encoder.encode_pairs(texts, progress)
    return encoder.encode_questions([question for question, _ in texts], progress)
