"""How often a campaign's controls are answered as expected, from its judgments.

Left out are the answers of workers who are excluded: they say something of the workers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count, QuerySet, Sum

from annotation.models import Campaign, Control, Exclusion, Judgment
from annotation.pipeline.labelling.votes import ROWS
from annotation.protocol.screening.control_accuracy import ControlRate, worst_first

MOST = {
    Control.Kind.POSITIVE: 1000,  # a campaign's share of the pool
    Control.Kind.NEGATIVE: 200,  # of tens of thousands, each of which serves in few HITs
}

Figures = Mapping[str, Any]


def control_figures(campaign: Campaign) -> dict[str, Any]:
    """By kind: totals, and [control, answered, right, workers] of the worst ones."""
    rates: defaultdict[str, list[ControlRate]] = defaultdict(list)
    for kind, *row in _rows(campaign).iterator(chunk_size=ROWS):
        control, answered, yes, workers = row
        right = yes if kind == Control.Kind.POSITIVE else answered - yes
        rates[kind].append(ControlRate(control, answered, right, workers))
    return {kind.value: _together(rates[kind], most) for kind, most in MOST.items()}


def _rows(campaign: Campaign) -> QuerySet[Judgment, Any]:
    excluded = Exclusion.in_force(campaign).values("worker")
    answers = Judgment.objects.filter(triplet=None, assignment__hit__campaign=campaign)
    rows = answers.exclude(worker__in=excluded).order_by()
    return rows.values_list("item__control__kind", "item__control").annotate(
        answered=Count("pk"), yes=Sum("value"), workers=Count("worker", distinct=True)
    )


def _together(rates: list[ControlRate], most: int) -> dict[str, Any]:
    return {
        "controls": len(rates),
        "answered": sum(rate.answered for rate in rates),
        "right": sum(rate.right for rate in rates),
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
