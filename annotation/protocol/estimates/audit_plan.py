"""How many labels experts have to judge for an interval of a wanted width."""

from __future__ import annotations

from math import ceil

from annotation.protocol.estimates.label_audit import Audit
from annotation.protocol.labels.label_error import NINETY_FIVE_PERCENT

LEAST_WIDTH, USUAL_WIDTH, MOST_WIDTH = 0.001, 0.02, 0.5
LEAST_PILOT = 30  # judged, before they say more of it than the votes' own claims


def is_pilot(audit: Audit) -> bool:
    return audit.judged.total() >= LEAST_PILOT


def labels_for_width(audit: Audit, width: float) -> int:
    """Those that are judged already among them; never more than there are.

    From a pilot: an interval is half as wide with four times as many. Without one, from how
    likely the votes claim that each label is wrong.
    """
    labels, error = audit.labels.total(), audit.error()
    if not labels:
        return 0
    if error and is_pilot(audit):
        needed = error.triplets * ((error.high - error.low) / width) ** 2
    else:
        variance = sum(n * one.claim * (1 - one.claim) for one, n in audit.labels.items()) / labels
        needed = variance * (2 * NINETY_FIVE_PERCENT / width) ** 2
    return min(labels, ceil(needed))
