"""What the rest of the package knows of vectors and encoders, without importing one."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.progress import Progress, no_progress

# One row a text, float32, of length 1.
Vectors = NDArray[np.float32]
# Rows as a store keeps them: float32 or float16.
Stored = NDArray[np.float32] | NDArray[np.float16]
# Of rows in a store, in the order of its shards; -1 stands for none.
Positions = NDArray[np.int64]
# One flag for each position of a store.
Mask = NDArray[np.bool_]
# The pairs' keys, 32 bytes each. As bytes they sort as their hexadecimal forms do.
PairKeys = NDArray[np.bytes_]
WITHOUT_CLS = "mean-without-cls"  # a pooling of tokens


class QuestionEncoder(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the model would give other vectors."""

    def encode_questions(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> Vectors:
        """`progress` counts texts done."""


class Encoder(QuestionEncoder, Protocol):
    @property
    def dimension(self) -> int: ...

    @property
    def pooling(self) -> str:
        """How a text's tokens become one vector: mean, cls, max."""

    @property
    def precision(self) -> str:
        """Of the arithmetic: fp32, bf16 or fp16."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The libraries that the vectors may depend on."""

    def encode_pairs(
        self, pairs: Sequence[tuple[str, str]], progress: Progress = no_progress
    ) -> Vectors:
        """Question and answer read together, as one input of two segments."""


def packed(keys: Sequence[str]) -> PairKeys:
    """Hexadecimal keys as bytes."""
    return np.frombuffer(bytes.fromhex("".join(keys)), "S32")


def unpacked(keys: PairKeys) -> list[str]:
    """The inverse; numpy drops the zeros at the end of bytes, so it is not asked for them."""
    text = keys.tobytes().hex()
    return [text[start : start + 64] for start in range(0, len(text), 64)]


def positions_in(keys: PairKeys, wanted: PairKeys) -> Positions:
    """Where in sorted keys each of these stands; -1: nowhere."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)
