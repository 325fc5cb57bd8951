"""A shard: the vectors of some pairs in files of one name, complete once its record is there.

    NAME.keys.npy      32 bytes a pair, sorted
    NAME.vectors.npy   a row a pair, float32 or float16
    NAME.json          number of pairs, sizes and checksums; written last

The name is made of the content: two shards of one name are the same. Pure: files alone.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from retrieval.errors import UserError
from retrieval.vectors import PairKeys, Stored, Vectors

DTYPES = ("float32", "float16")
UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class Identity:
    """What decides a vector. All shards of a store share it."""

    model: str
    model_fingerprint: str
    pooling: str
    form: str
    dimension: int
    precision: str
    dtype: str


@dataclass(frozen=True)
class Shard:
    """A shard's record. `files`: bytes and sha256 of each by its name."""

    name: str
    pairs: int
    files: Mapping[str, Mapping[str, int | str]]


def files_of(name: str) -> tuple[str, str]:
    return f"{name}.keys.npy", f"{name}.vectors.npy"


def write_shard(folder: Path, identity: Identity, keys: PairKeys, vectors: Vectors) -> Shard:
    """Write the pairs' vectors, in the order of the keys; whole or not at all.

    Raises UserError where the model did not give a vector of numbers for each key.
    """
    if vectors.shape != (len(keys), identity.dimension) or not np.isfinite(vectors).all():
        raise UserError(
            f"The model gave vectors of shape {vectors.shape} or not of numbers for "
            f"{len(keys):,} texts: use another model."
        )
    order = np.argsort(keys)
    arrays = keys[order], vectors[order].astype(identity.dtype)
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    name = f"shard-{digest.hexdigest()[:16]}"
    for file_name, array in zip(files_of(name), arrays, strict=True):
        with _replacing(folder / file_name) as path, path.open("wb") as file:
            np.save(file, array, allow_pickle=False)
    files = {file_name: _facts(folder / file_name) for file_name in files_of(name)}
    shard = Shard(name, len(keys), files)
    with _replacing(folder / f"{name}.json") as path:
        path.write_text(json.dumps(asdict(shard), indent=2, sort_keys=True) + "\n")
    return shard


def complete_shards(folder: Path) -> list[Shard]:
    """Those whose record is there, in the order of their names; their files are not read."""
    return [Shard(**json.loads(path.read_text())) for path in sorted(folder.glob("shard-*.json"))]


def sound_shards(folder: Path) -> list[Shard]:
    """The complete shards whose files are the ones recorded; the record of others is removed."""
    sound = []
    for shard in complete_shards(folder):
        try:
            verify_shard(folder, shard, "build the index again")
        except UserError:
            (folder / f"{shard.name}.json").unlink()
        else:
            sound.append(shard)
    return sound


def verify_shard(folder: Path, shard: Shard, hint: str) -> None:
    """Refuse, by name, a file that is missing, cut short, or not the one recorded."""
    for name, recorded in shard.files.items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"The index file {path} is missing: {hint}.")
        if (size := path.stat().st_size) != recorded["bytes"]:
            raise UserError(
                f"The index file {path} has {size:,} bytes instead of {recorded['bytes']:,}: "
                f"{hint}."
            )
        if sha256_of(path) != recorded["sha256"]:
            raise UserError(
                f"The index file {path} is not the one recorded for this index, its checksum "
                f"differs: {hint}."
            )


def read_shard(folder: Path, shard: Shard) -> tuple[PairKeys, Stored]:
    """Keys, and vectors that are read from the disk where they are looked at."""
    keys, vectors = files_of(shard.name)
    return (
        np.load(folder / keys, allow_pickle=False),
        np.load(folder / vectors, mmap_mode="r", allow_pickle=False),
    )


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _facts(path: Path) -> dict[str, int | str]:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file beside it that takes its place when it is written and on the disk."""
    unfinished = path.with_name(path.name + UNFINISHED)
    yield unfinished
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def names(shards: Sequence[Shard]) -> list[str]:
    return [shard.name for shard in shards]
