"""The charts of a campaign's overview, from its snapshots."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from annotation.analytics.campaign.charts import Chart, Series
from annotation.models import Campaign, Snapshot
from annotation.protocol.estimates.cost import is_free
from core.text.money import unit

POINTS = 60  # in time
NEAR_ONE = 0.5
LEVEL = "The band is the 95% interval"

Figures = dict[str, Any]


def charts_of(campaign: Campaign, history: Sequence[Snapshot]) -> list[Chart]:
    """`history` ascends in time and ends with the newest, of which the figures by rank are."""
    if not history:
        return []
    now = history[-1].figures
    money = [] if is_free(campaign.policy) and not now["spent_cents"] else [_money(history)]
    return [
        _labels(history),
        _estimate(history, "agreement", "Agreement", _AGREEMENT),
        _estimate(history, "kappa", "Cohen's kappa", _KAPPA),
        _estimate(history, "control_failures", "Failed controls", _FAILURES),
        _by_rank(now),
        _votes(now),
        *money,
    ]


def _labels(history: Sequence[Snapshot]) -> Chart:
    names = {"With a label": "labelled", "Positive": "positive", "Unresolved": "unresolved"}
    counts = [Series(name, [one.figures[key] for one in history]) for name, key in names.items()]
    return _in_time(history, "labels", "Triplets with a label", counts, unit="triplets")


_AGREEMENT = (
    "The share of triplets whose first two valid votes are the same. "
    f"{LEVEL} of a bootstrap over the queries."
)
_KAPPA = (
    f"Agreement of the first two valid votes beyond chance. {LEVEL} of a bootstrap over the "
    "queries."
)
_FAILURES = f"The share of reviewed assignments that missed a control. {LEVEL} of Wilson."


def _estimate(history: Sequence[Snapshot], key: str, title: str, note: str) -> Chart:
    def line(end: str, name: str, band: Literal["", "from", "to"] = "") -> Series:
        return Series(name, [one.figures[key][end] for one in history], band)

    interval = line("low", "Interval from", "from"), line("high", "Interval to", "to")
    lines = [line("value", title), *interval]
    chart = _in_time(history, key.replace("_", "-"), title, lines, note=note)
    return replace(chart, least=_floor(chart))


def _floor(chart: Chart) -> float | None:
    """Where the axis of shares near 1 begins: from 0 on their intervals could not be told apart."""
    known = [value for line in chart.series for value in line.values if value is not None]
    least = min(known, default=0)
    return math.floor(least * 10) / 10 if least > NEAR_ONE else None


def _money(history: Sequence[Snapshot]) -> Chart:
    names = {"Spent": "spent_cents", "Reserved": "reserved_cents", "Budget": "budget_cents"}
    sums = [
        Series(name, [one.figures[key] / 100 for one in history], muted=name == "Budget")
        for name, key in names.items()
    ]
    return _in_time(history, "money", "Spent and reserved", sums, unit=unit())


def _by_rank(now: Figures) -> Chart:
    rows: list[list[int]] = now["positives_by_rank"]
    return Chart(
        key="ranks",
        title="Positives by rank",
        kind="stack",
        axis="rank",
        labels=[str(rank) for rank, _, _ in rows],
        series=[
            Series("Positive", [positive for _, _, positive in rows]),
            Series("Negative", [all_ - positive for _, all_, positive in rows], muted=True),
        ],
        unit="labelled triplets",
        note="Rank 1 is the candidate that the retriever held for the nearest.",
    )


def _votes(now: Figures) -> Chart:
    triplets: list[int] = now["votes_per_triplet"]
    return Chart(
        key="votes",
        title="Votes per triplet",
        kind="bar",
        axis="valid votes",
        labels=[str(votes) for votes in range(len(triplets))],
        series=[Series("Triplets", triplets)],
        unit="triplets",
        note="Votes of failed and discarded work do not count.",
    )


def _in_time(
    history: Sequence[Snapshot],
    key: str,
    title: str,
    lines: Sequence[Series],
    *,
    unit: str = "",
    note: str = "",
) -> Chart:
    return Chart(
        key=key,
        title=title,
        kind="time",
        axis="time (UTC)",
        labels=[f"{one.at:%Y-%m-%d %H:%M:%S}" for one in history],
        places=[round(one.at.timestamp() * 1000) for one in history],
        series=lines,
        unit=unit,
        note=note,
    )
