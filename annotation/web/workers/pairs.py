"""How workers agree two by two, as pages show it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from annotation.crowd.inhouse.members import user_names
from annotation.models import Campaign, Workforce

PLACES = ("first", "second")


@dataclass(frozen=True)
class Pairs:
    rows: Sequence[
        Mapping[str, Any]
    ]  # as `pair_agreement.WorkerPair`, with the names that people know
    total: int
    shared_errors: Sequence[Mapping[str, Any]]  # as `shared_errors.SharedErrors`


def pairs_of(campaign: Campaign, together: Workforce | None) -> Pairs:
    if together is None:
        return Pairs([], 0, [])
    pairs, errors = together.figures["pairs"], errors_of(together)
    names = names_of(campaign, [pair[place] for pair in [*pairs, *errors] for place in PLACES])
    rows, errors = ([_named(pair, names) for pair in of] for of in (pairs, errors))
    return Pairs(rows, together.figures["pairs_in_all"], errors)


def partners_of(
    campaign: Campaign, together: Workforce | None, worker: str
) -> Sequence[Mapping[str, Any]]:
    """Who shares more errors with the worker than chance explains, as `partner` of each pair."""
    pairs = [pair for pair in errors_of(together) if worker in (pair["first"], pair["second"])]
    partners = [pair["second"] if pair["first"] == worker else pair["first"] for pair in pairs]
    names = names_of(campaign, partners)
    return [
        {**pair, "partner": names.get(partner, partner)}
        for pair, partner in zip(pairs, partners, strict=True)
    ]


def errors_of(together: Workforce | None) -> Sequence[Mapping[str, Any]]:
    """Figures from before errors were compared have none."""
    pairs = together.figures.get("shared_errors", {}).get("pairs", []) if together else []
    return cast(Sequence[Mapping[str, Any]], pairs)


def _named(pair: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    two = sorted(names.get(pair[place], pair[place]) for place in PLACES)
    return {**pair, **dict(zip(PLACES, two, strict=True))}


def names_of(campaign: Campaign, workers: Iterable[str]) -> Mapping[str, str]:
    """Of a team's members; of others nothing is known."""
    return user_names(workers) if campaign.policy.crowd_traits.has_accounts else {}
