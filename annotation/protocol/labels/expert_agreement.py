"""What experts' labels say of the crowd's, in the figures that pages and releases show."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.protocol.labels.label_error import KindError, LabelError

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
            **({"label_error_kinds": _kinds(error)} if error else {}),
        }


def _kinds(error: LabelError) -> dict[str, object]:
    """Null where experts judged none of the labels that could be wrong so."""
    both = {"false_positives": error.false_positives, "false_negatives": error.false_negatives}
    return {name: kind and _kind(kind) for name, kind in both.items()}


def _kind(kind: KindError) -> dict[str, object]:
    return {
        "triplets": kind.triplets,
        "share": rounded(kind.share.value),
        "interval": [rounded(kind.share.low), rounded(kind.share.high)],
        "of_all": rounded(kind.of_all.value),
        "of_all_interval": [rounded(kind.of_all.low), rounded(kind.of_all.high)],
    }


def rounded(share: float | None) -> float | None:
    return None if share is None else round(share, DECIMALS)
