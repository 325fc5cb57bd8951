"""How workers agree two by two, as pages show it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.crowd.inhouse.members import user_names
from annotation.models import Campaign, Workforce

PLACES = ("first", "second")


@dataclass(frozen=True)
class Pairs:
    rows: Sequence[
        Mapping[str, Any]
    ]  # as `pair_agreement.WorkerPair`, with the names that people know
    total: int


def pairs_of(campaign: Campaign, together: Workforce | None) -> Pairs:
    if together is None:
        return Pairs([], 0)
    pairs = together.figures["pairs"]
    names = names_of(campaign, [pair[place] for pair in pairs for place in PLACES])
    rows = []
    for pair in pairs:
        two = sorted(names.get(pair[place], pair[place]) for place in PLACES)
        rows.append({**pair, **dict(zip(PLACES, two, strict=True))})
    return Pairs(rows, together.figures["pairs_in_all"])


def names_of(campaign: Campaign, workers: Iterable[str]) -> Mapping[str, str]:
    """Of a team's members; of others nothing is known."""
    return user_names(workers) if campaign.policy.crowd_traits.has_accounts else {}
