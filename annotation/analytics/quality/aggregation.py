"""What an aggregator that knows the controls makes of a campaign's votes, beside the majority."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotation.models import Campaign
from annotation.pipeline.labelling.aggregate import fit
from annotation.pipeline.labelling.votes import blind_verdicts
from annotation.protocol.aggregation.calibration import Bin, Calibration, reliability
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
    made = fit(campaign)
    choice, (table, triplets, _) = made.choice, made.votes
    by_majority = AGGREGATORS[MAJORITY](table).log_odds(table)[: len(triplets)]
    odds = {MAJORITY: by_majority, choice.name: made.log_odds}
    decided = odds[MAJORITY] != 0
    differs = (odds[MAJORITY] > 0) != (odds[choice.name] > 0)
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


@dataclass(frozen=True)
class Posteriors:
    """`calibration`: by experts' blind labels; None: too few for a chance to be shown. `chances`:
    of label 1, of each triplet that has votes. `reliability`: how often what is said of sampled
    triplets came true."""

    choice: Choice
    calibration: Calibration | None
    chances: Mapping[int, float | None]
    reliability: Sequence[Bin]


def posteriors_of(campaign: Campaign) -> Posteriors:
    made = fit(campaign)
    triplets, calibration = made.votes.triplets.tolist(), made.calibration
    if calibration is None:
        return Posteriors(made.choice, None, dict.fromkeys(triplets), ())
    chances = calibration.map(made.log_odds).tolist()
    bins = reliability(made.log_odds[made.sampled], made.labels, made.begin)
    return Posteriors(made.choice, calibration, dict(zip(triplets, chances, strict=True)), bins)


def _verdicts(
    odds: Floats, triplets: Ints, sampled: Mapping[int, tuple[int, int]]
) -> Iterable[Verdict]:
    """On the triplets that have a label."""
    for triplet, claimed in zip(triplets.tolist(), odds.tolist(), strict=True):
        if triplet in sampled and claimed != 0:
            yield Verdict(int(claimed > 0), *sampled[triplet])
