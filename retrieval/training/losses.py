"""The losses that a recipe can name, each with its class in sentence-transformers.

To add one, add its row here and its name to docs/training.md.
"""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Loss:
    kind: str  # of the models that are trained with it
    path: str  # of its class
    # It reads queries with a positive, and the other rows of a batch are negatives; any other
    # loss reads queries with a candidate and its label.
    in_batch_negatives: bool = False

    def load(self) -> Any:
        """Its class; loads torch."""
        return pkgutil.resolve_name(f"sentence_transformers.{self.path}")


# The first of a kind is its default.
LOSSES: Mapping[str, Loss] = {
    "multiple-negatives-ranking": Loss(
        "retriever",
        "sentence_transformer.losses:MultipleNegativesRankingLoss",
        in_batch_negatives=True,
    ),
    "online-contrastive": Loss("retriever", "sentence_transformer.losses:OnlineContrastiveLoss"),
    "binary-cross-entropy": Loss("selector", "cross_encoder.losses:BinaryCrossEntropyLoss"),
}


def losses_of(kind: str) -> tuple[str, ...]:
    return tuple(name for name, loss in LOSSES.items() if loss.kind == kind)
