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
    certify: float | None = None  # that at most this share of its labels is wrong

    def to_dict(self) -> dict[str, Any]:
        """A certificate that nobody wants leaves no trace."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Options:
        return cls(**values)
