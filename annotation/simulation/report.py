"""A dry run's outcome in figures for people: those it counted, and those that follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.crowd.simulated.profiles import KINDS
from annotation.simulation.play import BUDGET, FINISHED, NOBODY
from core.text.money import money
from core.text.words import percent

NOTHING = "-"
ENDS = {
    FINISHED: "every triplet was decided",
    BUDGET: "the money was spent: three times the dearest estimate",
    NOBODY: "no worker was left who could continue",
}


@dataclass(frozen=True)
class Figures:
    """Of one outcome; `whole_*`: scaled up to the whole campaign. No cents: no money moves."""

    queries: int
    triplets: int
    hits: int
    assignments: int
    rejected: int
    cents: int
    cents_per_label: float | None
    whole_assignments: int
    whole_cents: int
    estimated_assignments: int
    estimated_cents: int
    estimated_cents_max: int
    labelled: int
    unresolved: int
    open: int
    ties: int
    agreement: float | None
    accuracy: float | None
    low: float | None
    high: float | None
    precision: float | None  # of the positive labels, the share that are
    recall: float | None  # of what is positive and labelled, the share labelled so
    labels_by_experts: int
    lost: int  # careful people who were excluded
    caught: int  # careless people and spammers who were
    bad: int  # careless people and spammers who submitted anything
    end: str


def figures(result: Mapping[str, Any]) -> Figures:
    whole, people, triplets = result["whole"], result["people"], result["triplets"]
    cents = _cents(result)
    scale = whole["triplets"] / triplets
    low, high = result["accuracy_interval"] or (None, None)
    bad = [people[kind] for kind in KINDS if kind != "careful"]
    return Figures(
        **{name: result[name] for name in AS_COUNTED},
        cents=cents,
        cents_per_label=_share(cents, result["labelled"]),
        whole_assignments=round(result["assignments"] * scale),
        whole_cents=round(cents * scale),
        estimated_assignments=whole["assignments"],
        estimated_cents=whole["cents"],
        estimated_cents_max=whole["cents_max"],
        low=low,
        high=high,
        precision=_share(result["true_positives"], result["positives"]),
        recall=_share(result["true_positives"], result["positives_that_are"]),
        lost=people["careful"]["excluded"],
        caught=sum(kind["excluded"] for kind in bad),
        bad=sum(kind["worked"] for kind in bad),
        end=ENDS[result["end"]],
    )


AS_COUNTED = (
    "queries",
    "triplets",
    "hits",
    "assignments",
    "rejected",
    "labelled",
    "unresolved",
    "open",
    "ties",
    "agreement",
    "accuracy",
    "labels_by_experts",
)


def _cents(result: Mapping[str, Any]) -> int:
    """A team is paid its reward, without the fees that the emulator took."""
    if not result["has_fee"]:
        return int(result["paid_assignments"] * result["reward_cents"])
    return int(result["spent_cents"])


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def per_label(report: Figures) -> str:
    if report.cents_per_label is None or not report.cents:
        return NOTHING
    return money(report.cents_per_label, decimals=3)


def render(result: Mapping[str, Any]) -> dict[str, object]:
    """For the command line: what counts most first."""
    facts = figures(result)
    costs = {
        "cost": money(facts.cents),
        "cost_per_label": per_label(facts),
        "whole_campaign": money(facts.whole_cents),
        "estimated_before": money(facts.estimated_cents),
    }
    return {
        "ended": facts.end,
        "queries": facts.queries,
        "triplets": facts.triplets,
        "hits": facts.hits,
        "assignments": facts.assignments,
        "rejected": facts.rejected,
        **(costs if facts.cents else {}),
        "labelled": facts.labelled,
        "unresolved": facts.unresolved,
        "open": facts.open,
        "ties": facts.ties,
        "agreement": percent(facts.agreement, unknown=NOTHING),
        "true_labels": f"{percent(facts.accuracy)} ({percent(facts.low)} to {percent(facts.high)})",
        "careless_and_spammers_excluded": f"{facts.caught} of {facts.bad}",
        "careful_people_lost": facts.lost,
    }
