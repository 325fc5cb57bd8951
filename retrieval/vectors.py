"""What the rest of the package knows of an encoder, without importing one."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# One row a text, float32, of length 1.
Vectors = NDArray[np.float32]
Positions = NDArray[np.int64]


class Encoder(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the model would give other vectors."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The libraries that the vectors may depend on."""

    def encode_questions(self, questions: Sequence[str]) -> Vectors: ...

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        """Question and answer read together, as one input of two segments."""
