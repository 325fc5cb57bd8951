"""What experts' labels say of the crowd's, in the figures that pages and releases show."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.protocol.labels.label_error import LabelError

DECIMALS = 4
BASIS = (
    "labelled triplets whose expert label was imported or given to a random sample, as it was "
    "before the votes were shown; adjudicated ones are no random sample and do not count"
)


@dataclass(frozen=True)
class ExpertFigures:
    labels: int
    triplets: int
    unresolved_adjudicated: float | None  # share of the unresolved that have an expert's label
    agreement: float | None  # of two experts on the same triplet
    label_error: LabelError | None

    def to_dict(self) -> dict[str, object]:
        """Rounded; the label error apart."""
        return {
            "labels": self.labels,
            "triplets": self.triplets,
            "unresolved_adjudicated": rounded(self.unresolved_adjudicated),
            "agreement": rounded(self.agreement),
        }

    def label_error_to_dict(self) -> dict[str, object]:
        """Null, with the reason, where there is no gold."""
        error = self.label_error
        return {
            "label_error": rounded(error.share) if error else None,
            "label_error_interval": [rounded(error.low), rounded(error.high)] if error else None,
            "label_error_triplets": error.triplets if error else 0,
            "label_error_reason": None if error else "no gold",
            "label_error_basis": BASIS,
        }


def rounded(share: float | None) -> float | None:
    return None if share is None else round(share, DECIMALS)
