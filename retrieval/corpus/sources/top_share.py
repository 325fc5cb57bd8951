"""The best share of a source's pairs by a score, chosen in constant memory.

The first reading writes score and key of every pair to a temporary file; the second one reads the
same pairs again and keeps those up to the last one that the share has room for.
"""

import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from retrieval.encoders.selector import Scorer

# Eight bytes of score and 32 of key, so that the smallest record is the best pair; read as
# sixteen-bit digits, most significant first.
RECORD = 40
SCORE = 8
DIGIT = np.dtype(">u2")
RECORDS_AT_ONCE = 50_000
SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class TopShare:
    """What to keep: a share of the pairs, by a field of the file or by a model."""

    share: Fraction
    field: str = ""
    scorer: Scorer | None = None


@dataclass(frozen=True)
class KeptShare:
    """Of `pairs` that can be used the best `kept`; the threshold is the score of the last one."""

    share: float
    pairs: int
    kept: int
    threshold: float


def share_of(text: str) -> Fraction:
    """10% or 0.1."""
    number = text.strip().removesuffix("%")
    try:
        share = Fraction(number) / (100 if text.strip().endswith("%") else 1)
    except (ValueError, ZeroDivisionError) as error:
        raise UserError(f"{text!r} is not a share: write it as 10% or 0.1.") from error
    if not 0 < share <= 1:
        hint = f" (did you mean {number}%?)" if 1 < share <= 100 and number == text.strip() else ""
        raise UserError(f"The share {text} must be greater than 0 and at most 100%{hint}.")
    return share


class Selection:
    """Which pairs are kept; it is asked for them in the order in which they were scored."""

    def __init__(self, records: BinaryIO, path: Path, share: Fraction) -> None:
        self._records, self._path = records, path
        pairs = records.tell() // RECORD
        kept = math.ceil(pairs * share)
        self._last = _smallest(records, kept)
        self.result = KeptShare(float(share), pairs, kept, _score(self._last))
        records.seek(0)

    def keeps(self, keys: Sequence[str]) -> list[bool]:
        data = self._records.read(RECORD * len(keys))
        records = [data[start : start + RECORD] for start in range(0, len(data), RECORD)]
        if [one[SCORE:].hex() for one in records] != list(keys):
            raise UserError(f"{self._path} changed while it was read: run the command again.")
        return [one[: len(self._last)] <= self._last for one in records]


@contextmanager
def selection(
    scored: Iterable[tuple[Sequence[float], Sequence[str]]],
    *,
    path: Path,
    share: Fraction,
    folder: Path,
) -> Iterator[Selection]:
    """`scored`: scores and pair keys, some at a time, and at least one.

    What is written of them lies in `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as records:
        for scores, keys in scored:
            records.write(_packed(scores, keys))
        yield Selection(records, path, share)


def _packed(scores: Sequence[float], keys: Sequence[str]) -> bytes:
    records = np.empty((len(keys), RECORD), np.uint8)
    records[:, :SCORE] = _descending(scores).view(np.uint8).reshape(-1, SCORE)
    records[:, SCORE:] = np.frombuffer(bytes.fromhex("".join(keys)), np.uint8).reshape(-1, 32)
    return records.tobytes()


def _descending(scores: Sequence[float]) -> NDArray[np.uint64]:
    """Numbers that sort the other way round, bit by bit: a float's bits sort by its magnitude."""
    bits = (np.asarray(scores, np.float64) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    ascending = np.where(bits & SIGN, ~bits, bits | SIGN)
    return (~ascending).astype(">u8")


def _score(record: bytes) -> float:
    ascending = ~np.frombuffer(record[:SCORE], ">u8").astype(np.uint64)
    return float(np.where(ascending & SIGN, ascending & ~SIGN, ~ascending).view(np.float64)[0])


def _smallest(records: BinaryIO, count: int) -> bytes:
    """The beginning that the count-th smallest record has and, but for copies, no greater one.

    Digit by digit: each reading counts the records by their next digit, among those that begin
    as the wanted one does.
    """
    prefix = np.empty(0, DIGIT)
    for place in range(RECORD // DIGIT.itemsize):
        counts = np.zeros(1 << 16, np.int64)
        for block in _blocks(records):
            same = (block[:, :place] == prefix).all(axis=1)
            counts += np.bincount(block[same, place], minlength=1 << 16)
        up_to = counts.cumsum()
        digit = int(np.searchsorted(up_to, count))
        count -= int(up_to[digit] - counts[digit])
        prefix = np.append(prefix, np.array([digit], DIGIT))
        # Its score is known, and everything that begins so belongs to it.
        if prefix.nbytes >= SCORE and counts[digit] == count:
            break
    return prefix.astype(DIGIT).tobytes()


def _blocks(records: BinaryIO) -> Iterator[NDArray[np.uint16]]:
    records.seek(0)
    while data := records.read(RECORD * RECORDS_AT_ONCE):
        yield np.frombuffer(data, DIGIT).reshape(-1, RECORD // DIGIT.itemsize)
