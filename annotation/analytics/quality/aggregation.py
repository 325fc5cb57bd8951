"""What an aggregator that knows the controls makes of a campaign's votes, beside the majority."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from annotation.models import Campaign, Posterior
from annotation.pipeline.labelling.aggregate import fitted
from annotation.pipeline.labelling.known_answers import blind_verdicts, majorities
from annotation.pipeline.labelling.label import claims_of
from annotation.protocol.aggregation.calibration import (
    AS_CLAIMED,
    Bin,
    calibration_error,
    reliability,
)
from annotation.protocol.aggregation.choice import AGGREGATORS, Choice
from annotation.protocol.aggregation.table import Floats, Ints
from annotation.protocol.labels.claims import MAJORITY
from annotation.protocol.labels.label_error import LabelError, Verdict, label_error


@dataclass(frozen=True)
class Aggregation:
    """`changed`: of the triplets that have a majority, those that the chosen aggregator labels
    otherwise. `errors`: of both, on the triplets that experts judged without seeing votes."""

    choice: Choice
    controls: int
    answers: int  # to controls
    votes: int
    with_majority: int
    changed: int
    errors: Mapping[str, LabelError | None]


def aggregation_of(campaign: Campaign) -> Aggregation:
    (table, triplets, *_), made = fitted(campaign)
    choice = made.choice
    chosen = f"{choice.name} with ranks" if made.prior.slope else choice.name
    by_majority = AGGREGATORS[MAJORITY](table).log_odds(table)[: len(triplets)]
    odds = {MAJORITY: by_majority, chosen: made.log_odds}
    decided = odds[MAJORITY] != 0
    differs = (odds[MAJORITY] > 0) != (odds[chosen] > 0)
    sampled = blind_verdicts(campaign)
    of_controls = int(table.is_known[table.item].sum())
    return Aggregation(
        choice=choice,
        controls=int(table.is_known.sum()),
        answers=of_controls,
        votes=len(table.vote) - of_controls,
        with_majority=int(decided.sum()),
        changed=int((differs & decided).sum()),
        errors={name: label_error(_verdicts(of, triplets, sampled)) for name, of in odds.items()},
    )


class Reliability(NamedTuple):
    """How often chances come true of triplets that experts judged blindly, by tenths, and how far
    they are from it in the mean (the expected calibration error)."""

    bins: Sequence[Bin]
    error: float


def reliability_of(campaign: Campaign) -> Reliability | None:
    """None: no chance may be shown."""
    if claims_of(campaign).sampled is None:
        return None
    said = majorities(blind_verdicts(campaign))
    claimed = Posterior.objects.filter(triplet__campaign=campaign, triplet__in=said).order_by("pk")
    rows = claimed.values_list("triplet", "log_odds")
    log_odds = np.array([odds for _, odds in rows], float)
    if not log_odds.size:
        return None
    labels = np.array([said[triplet] for triplet, _ in rows], int)
    # What votes on items promise would be no better to begin at: replays say so.
    bins = reliability(log_odds, labels, AS_CLAIMED)
    return Reliability(bins, calibration_error(bins))


def _verdicts(
    odds: Floats, triplets: Ints, sampled: Mapping[int, tuple[int, int]]
) -> Iterable[Verdict]:
    """On the triplets that have a label."""
    for triplet, claimed in zip(triplets.tolist(), odds.tolist(), strict=True):
        if triplet in sampled and claimed != 0:
            yield Verdict(int(claimed > 0), *sampled[triplet])
