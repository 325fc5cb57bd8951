"""The columns of the table of workers, and the words in their cells."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from annotation.models import Campaign, WorkerFigures
from annotation.protocol.policy.crowds import CrowdTraits
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.exclusion import FALSE_EXCLUSION
from annotation.web.base.columns import NUMBER, Column
from core.text.money import money
from core.text.words import percent

USUAL_ORDER = "-hits"


@dataclass(frozen=True)
class WorkerColumn(Column):
    cell: Callable[[WorkerFigures], str] = field(kw_only=True)


def duration(ms: float) -> str:
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def rule_of(policy: Policy) -> str:
    """What an excluded worker has done, with the rate as exactly as the policy has it."""
    allowed = f"{float(100 * Fraction(str(policy.max_failure_rate))):g}%"
    if policy.exclusion_rule == "sequential":
        return (
            f"failed more reviewed HITs than is likely of somebody who fails {allowed} of them: "
            f"of such people {FALSE_EXCLUSION:.0%} at most are ever excluded"
        )
    return f"failed more than {allowed} of at least {policy.min_assignments:,} reviewed HITs"


def rate(failed: int, reviewed: int) -> str:
    if not reviewed:
        return "—"
    return f"{failed:,} of {reviewed:,} · {failed / reviewed:.0%}"


def _failed(row: WorkerFigures) -> str:
    return rate(row.failed, row.reviewed)


def _agreement(row: WorkerFigures) -> str:
    return "—" if row.agreement is None else f"{row.agreement:.0%} of {row.compared:,}"


def _time(row: WorkerFigures) -> str:
    return "—" if row.median_ms is None else duration(row.median_ms)


def _wage(row: WorkerFigures) -> str:
    return "—" if row.hourly_cents is None else money(row.hourly_cents)


def _changes(row: WorkerFigures) -> str:
    return "—" if row.changes_per_hit is None else f"{row.changes_per_hit:.1f}"


def _number(name: str, heading: str, by: str, cell: Callable[[WorkerFigures], str]) -> WorkerColumn:
    return WorkerColumn(name, heading, by, NUMBER, cell=cell)


COLUMNS = (
    WorkerColumn("worker", "Worker", "worker__worker_id", cell=lambda row: row.worker.worker_id),
    _number("hits", "HITs", "submitted", lambda row: f"{row.submitted:,}"),
    _number("failed", "Failed controls", "failure_rate", _failed),
    _number("agreement", "Agreement", "agreement", _agreement),
    _number("time", "Median time", "median_ms", _time),
    _number("wage", "Hourly wage", "hourly_cents", _wage),
    _number("straight", "One answer", "straight_share", lambda row: percent(row.straight_share, 0)),
    _number("changes", "Changes a HIT", "changes_per_hit", _changes),
    _number("reports", "Reports", "reports", lambda row: f"{row.reports:,}"),
    _number("cannot", "Can't judge", "cannot_judge", lambda row: f"{row.cannot_judge:,}"),
)


def columns_of(campaign: Campaign) -> list[WorkerColumn]:
    """Where nothing is paid by the piece, there is no wage."""
    policy = campaign.policy
    asked = {"wage": policy.reward_cents > 0, "cannot": policy.cannot_judge_limit > 0}
    columns = [column for column in COLUMNS if asked.get(column.name, True)]
    said = policy.crowd_traits.said
    return [replace(column, heading=said(column.heading)) for column in columns]


def flags_of(row: WorkerFigures, crowd: CrowdTraits) -> list[str]:
    """What to look at; whether it means anything, people find out."""
    flags = []
    if row.fast:
        flags.append("less than a third of the usual time")
    if row.one_answer:
        hits = f"{row.with_behaviour:,} {crowd.hit}s"
        flags.append(f"one answer throughout in {row.straight:,} of {hits}")
    return flags
