"""How often a campaign's controls are answered as expected, from the tallies of the answers.

Left out are the answers of workers who are excluded: they say something of the workers.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count, QuerySet

from annotation.models import Campaign, Control, ControlTally
from annotation.pipeline.labelling.tallies import tallies_of
from annotation.protocol.screening.control_accuracy import ControlRate, worst_first

MOST = {
    Control.Kind.POSITIVE: 1000,  # a campaign's share of the pool
    Control.Kind.NEGATIVE: 200,  # of tens of thousands, each of which serves in few HITs
}

Figures = Mapping[str, Any]


def control_figures(campaign: Campaign) -> dict[str, Any]:
    """By kind: totals, and [control, answered, right, workers] of the worst ones."""
    tallies = tallies_of(campaign, ControlTally).order_by()
    return {
        kind.value: _together(tallies.filter(control__kind=kind), kind, most)
        for kind, most in MOST.items()
    }


def _together(tallies: QuerySet[ControlTally], kind: Control.Kind, most: int) -> dict[str, Any]:
    """Most controls are answered alike: only those that are answered worst are read one by one."""

    def right(answered: int, yes: int) -> int:  # or yes, of the right ones
        return yes if kind == Control.Kind.POSITIVE else answered - yes

    counted = tallies.values_list("answered", "yes").annotate(Count("pk"))
    alike = {(answered, right(answered, yes)): controls for answered, yes, controls in counted}
    worst: Counter[tuple[int, int]] = Counter()
    for rate in worst_first(ControlRate(0, *way, 0) for way in alike):
        if worst.total() < most:
            worst[rate.answered, rate.right] = alike[rate.answered, rate.right]
    rows = tallies.filter(
        answered__in={answered for answered, _ in worst}, yes__in={right(*way) for way in worst}
    ).values_list("control", "answered", "yes", "workers")
    rates = (ControlRate(pk, answered, right(answered, yes), of) for pk, answered, yes, of in rows)
    return {
        "controls": sum(alike.values()),
        "answered": sum(answered * controls for (answered, _), controls in alike.items()),
        "right": sum(right * controls for (_, right), controls in alike.items()),
        "worst": [list(rate) for rate in worst_first(rates)[:most]],
    }


def rates_of(figures: Figures, kind: str) -> list[ControlRate]:
    return [ControlRate(*one) for one in figures.get(kind, {}).get("worst", [])]


def added_up(rates: Iterable[ControlRate]) -> dict[int, ControlRate]:
    """Control -> its rate in several campaigns; a worker counts once in each."""
    answered, right, workers = Counter[int](), Counter[int](), Counter[int]()
    for rate in rates:
        answered[rate.control] += rate.answered
        right[rate.control] += rate.right
        workers[rate.control] += rate.workers
    return {
        control: ControlRate(control, count, right[control], workers[control])
        for control, count in answered.items()
    }
