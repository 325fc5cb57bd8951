"""The outcomes of dry runs as the page shows them: charts, and a table side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotation.analytics.campaign.charts import Chart, Series
from annotation.crowd.simulated.profiles import KINDS
from annotation.simulation.outcome import FATES
from annotation.simulation.report import NOTHING, Figures, figures, per_label
from core.text.money import money, unit
from core.text.words import percent
from retrieval.models import Job

PEOPLE = {"careful": "Careful", "careless": "Careless", "spammer": "Spammers"}
WORK = {
    "counted": "its votes count",
    "failed": "failed a control",
    "discarded": "discarded with its worker",
}


@dataclass(frozen=True)
class DryRun:
    """A job that is done."""

    job: Job

    @property
    def result(self) -> dict[str, Any]:
        return dict(self.job.result or {})

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.result["options"])

    @cached_property
    def figures(self) -> Figures:
        return figures(self.result)

    @property
    def seconds(self) -> int:
        """From the request to the end, the wait for a worker included."""
        if self.job.ended_at is None:
            return 0
        return round((self.job.ended_at - self.job.requested_at).total_seconds())

    @property
    def per_head(self) -> int:
        """HITs that each of them submitted, about."""
        return round(self.figures.assignments / int(self.options["workers"]))

    @property
    def costs(self) -> bool:
        return self.figures.cents > 0

    @property
    def cost(self) -> str:
        return money(self.figures.whole_cents)

    @property
    def estimate(self) -> str:
        return money(self.figures.estimated_cents)

    @property
    def per_label(self) -> str:
        return per_label(self.figures)

    @property
    def accuracy(self) -> str:
        return percent(self.figures.accuracy, unknown=NOTHING)

    @property
    def interval(self) -> str:
        return f"{percent(self.figures.low)} to {percent(self.figures.high)}"

    @property
    def agreement(self) -> str:
        return percent(self.figures.agreement, unknown=NOTHING)

    @property
    def finished(self) -> bool:
        return self.figures.open == 0


def charts(outcome: DryRun) -> list[Chart]:
    people = outcome.result["people"]
    work = Chart(
        key="work",
        title="What became of the work",
        kind="stack",
        axis="People",
        labels=[PEOPLE[kind] for kind in KINDS],
        series=[Series(WORK[fate], [people[kind][fate] for kind in KINDS]) for fate in FATES],
        unit="assignments",
    )
    return [work, _cost(outcome)] if outcome.costs else [work]


def _cost(outcome: DryRun) -> Chart:
    whole, figures = outcome.result["whole"], outcome.figures
    bars = {
        "First round": whole["cents_min"],
        "Estimated before": whole["cents"],
        "In the dry run": figures.whole_cents,
        "All votes needed": whole["cents_max"],
    }
    return Chart(
        key="cost",
        title="The whole campaign's cost",
        kind="bar",
        axis="",
        labels=list(bars),
        series=[Series(unit(), [cents / 100 for cents in bars.values()])],
        unit=unit(),
        note="The estimate leaves out what is bought again; the dry run has bought it.",
    )


Row = tuple[str, list[str]]
Cell = Callable[[DryRun], str]


def table(outcomes: Sequence[DryRun]) -> list[Row]:
    """A row for each figure, a column for each outcome."""
    costs = any(one.costs for one in outcomes)
    rows = [*OPTIONS, *COUNTED, *(MONEY if costs else ()), *QUALITY]
    return [(name, [tell(one) for one in outcomes]) for name, tell in rows] if outcomes else []


def _count(name: str) -> Cell:
    return lambda one: f"{getattr(one.figures, name):,}"


def _share(name: str) -> Cell:
    return lambda one: percent(getattr(one.figures, name), unknown=NOTHING)


def _option(name: str) -> Cell:
    return lambda one: percent(one.options[name], unknown=NOTHING)


OPTIONS: tuple[tuple[str, Cell], ...] = (
    ("People", lambda one: f"{one.options['workers']:,}"),
    (
        "Careless, spammers",
        lambda one: f"{_option('careless')(one)}, {_option('spammers')(one)}",
    ),
    (
        "Careful people right: triplets, controls",
        lambda one: f"{_option('accuracy')(one)}, {_option('control_accuracy')(one)}",
    ),
    ("Seed", lambda one: str(one.options["seed"])),
)
COUNTED: tuple[tuple[str, Cell], ...] = (
    ("Queries", _count("queries")),
    ("Triplets", _count("triplets")),
    ("Labels by experts", _count("labels_by_experts")),
    ("HITs", _count("hits")),
    ("Assignments", _count("assignments")),
    ("Rejected", _count("rejected")),
)
MONEY: tuple[tuple[str, Cell], ...] = (
    ("Cost", lambda one: money(one.figures.cents) if one.costs else NOTHING),
    ("Cost of a label", lambda one: one.per_label),
    ("Whole campaign", lambda one: one.cost if one.costs else NOTHING),
    ("Its estimate", lambda one: one.estimate if one.costs else NOTHING),
)
QUALITY: tuple[tuple[str, Cell], ...] = (
    ("Labelled", _count("labelled")),
    ("Unresolved", _count("unresolved")),
    ("Still open", _count("open")),
    ("Ties", _count("ties")),
    ("Agreement of the first two", _share("agreement")),
    ("True labels", _share("accuracy")),
    ("95% interval", lambda one: one.interval),
    ("Positive labels that are true", _share("precision")),
    ("True positives found", _share("recall")),
    (
        "Careless people and spammers excluded",
        lambda one: f"{one.figures.caught:,} of {one.figures.bad:,}",
    ),
    ("Careful people lost", _count("lost")),
    ("Time", lambda one: f"{one.seconds:,} s"),
)
