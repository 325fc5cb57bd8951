"""What somebody asks of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    partial: bool = False  # although triplets are open
    split: str = "clusters"  # or "random"
    judgments: bool = True  # with the annotators' work

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Options:
        return cls(**values)
