"""A shard: the vectors of some pairs in files of one name, complete once its record is there.

    NAME.keys.npy      32 bytes a pair, sorted
    NAME.vectors.npy   a row a pair, float32 or float16
    NAME.json          number of pairs, sizes and checksums; written last

The name is made of the store's identity and the content: two shards of one name are the same, and
another store's is none here. Pure: files alone.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from retrieval.vectors.checksums import Facts, facts_of, verify_files
from retrieval.vectors.types import PairKeys, Stored, Vectors
from retrieval.vectors.unfinished_files import clear_unfinished, sync, sync_folder, unfinished

REBUILD = "run `quorum index build`"


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

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Shard:
    """A shard's record. `files`: bytes and sha256 of each by its name."""

    name: str
    pairs: int
    files: Mapping[str, Facts]

    @property
    def bytes(self) -> int:
        return sum(int(facts["bytes"]) for facts in self.files.values())


def files_of(name: str) -> tuple[str, str]:
    return f"{name}.keys.npy", f"{name}.vectors.npy"


def record_of(name: str) -> str:
    return f"{name}.json"


def names(shards: Sequence[Shard]) -> list[str]:
    return [shard.name for shard in shards]


def write_shard(folder: Path, identity: Identity, keys: PairKeys, vectors: Vectors) -> Shard:
    """Write the pairs' vectors, in the order of the keys; whole or not at all.

    Raises UserError where the model did not give a vector of numbers for each key.
    """
    fits = vectors.shape == (len(keys), identity.dimension)
    order = np.argsort(keys)
    with np.errstate(over="ignore"):  # too large for float16 is told below
        stored = vectors[order].astype(identity.dtype) if fits else vectors
    if not fits or not np.isfinite(stored).all():
        raise UserError(
            f"The model gave vectors of shape {vectors.shape} or not of numbers for "
            f"{len(keys):,} texts: use another model."
        )
    return write_rows(folder, identity, keys[order], stored)


def write_rows(folder: Path, identity: Identity, keys: PairKeys, rows: Stored) -> Shard:
    """As they are to be stored, in the order of the keys."""
    with writing(folder), ExitStack() as stack:
        written = []
        for array in (keys, rows):
            path, file = stack.enter_context(unfinished(folder))
            np.save(file, array, allow_pickle=False)
            sync(file)
            written.append((path, facts_of(path)))
        facts = [of_file for _, of_file in written]
        name = _name(identity, len(keys), facts)
        for (path, _), target in zip(written, files_of(name), strict=True):
            path.replace(folder / target)
        shard = Shard(name, len(keys), dict(zip(files_of(name), facts, strict=True)))
        write_record(folder, shard)
    return shard


def write_record(folder: Path, shard: Shard) -> None:
    """Completes the shard, whose files lie there."""
    with unfinished(folder) as (path, file):
        file.write(record(shard))
        sync(file)
        sync_folder(folder)  # no crash may leave the record without the files
        path.replace(folder / record_of(shard.name))
    sync_folder(folder)


def record(shard: Shard) -> bytes:
    return (json.dumps(asdict(shard), indent=2, sort_keys=True) + "\n").encode()


def shard_of(record: bytes, name: str, identity: Identity) -> Shard:
    """UserError where this is not the record of a shard of that name and identity."""
    try:
        parsed = json.loads(record)
        facts = {file: dict(parsed["files"][file]) for file in files_of(name)}
        shard = Shard(name, int(parsed["pairs"]), facts)
        same = _name(identity, shard.pairs, list(facts.values())) == name
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{record_of(name)} is not the record of a shard: {REBUILD}.") from error
    if not same or asdict(shard) != parsed:
        raise UserError(f"{record_of(name)} is the record of another store's shard: {REBUILD}.")
    return shard


def complete_shards(folder: Path, identity: Identity) -> tuple[list[Shard], list[Path]]:
    """Those whose record is there, in the order of their names, and the records that are none.

    Their files are not read.
    """
    shards, malformed = [], []
    for path in sorted(folder.glob("shard-*.json")):
        try:
            shards.append(shard_of(path.read_bytes(), path.stem, identity))
        except UserError:
            malformed.append(path)
    return shards, malformed


def sound_shards(folder: Path, identity: Identity) -> list[Shard]:
    """The complete shards whose files are the ones recorded; the record of others is removed.

    What a killed process left half-written goes, too.
    """
    clear_unfinished(folder)
    sound, damaged = complete_shards(folder, identity)
    for shard in sound.copy():
        try:
            verify_shard(folder, shard, REBUILD)
        except UserError:
            sound.remove(shard)
            damaged.append(folder / record_of(shard.name))
    for path in damaged:
        path.unlink(missing_ok=True)
    return sound


def verify_shard(folder: Path, shard: Shard, hint: str, *, again: bool = False) -> None:
    """Refuse, by name, a file that is missing, cut short, or not the one recorded."""
    verify_files(folder, shard.files, hint, again=again)


def read_keys(folder: Path, shard: Shard) -> PairKeys:
    return _array(folder / files_of(shard.name)[0], (shard.pairs,), "S32")


def read_vectors(folder: Path, identity: Identity, shard: Shard) -> Stored:
    """Read from the disk where they are looked at."""
    shape = (shard.pairs, identity.dimension)
    return _array(folder / files_of(shard.name)[1], shape, identity.dtype)


def _array(path: Path, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"The index file {path} cannot be read ({reason}): {REBUILD}.") from error
    if array.shape != shape or array.dtype != np.dtype(dtype):
        raise UserError(
            f"The index file {path} holds {array.dtype} of shape {array.shape} instead of "
            f"{np.dtype(dtype)} of shape {shape}: {REBUILD}."
        )
    # A slice of a memory map takes ten times as long to make as one of an array over it.
    return np.asarray(array)


def _name(identity: Identity, pairs: int, files: Sequence[Facts]) -> str:
    text = " ".join([identity.digest, str(pairs), *(str(facts["sha256"]) for facts in files)])
    return f"shard-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"The vectors cannot be written in {folder} ({error.strerror or error}): make room "
            "there and run the command again; the shards that are whole stay."
        ) from error
