"""`quorum campaign reconcile`: compares with the crowd's record, and repairs differences."""

import inspect
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from annotation.commands.campaign_noun import STEPS, app
from annotation.commands.campaign_operations import given, parameter, watched
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.operations.campaign.steps import LIVE, compare, ended_early
from annotation.operations.registry import LONG_OPERATIONS
from annotation.pipeline.reconcile.report import Reconciled
from annotation.pipeline.setup.create import get_campaign
from core.command import Result
from core.errors import UserError
from core.output import Rendered

RECONCILE = LONG_OPERATIONS["reconcile"]
Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="One campaign; without it, all published ones."),
]


def _repairs(result: Result) -> Rendered:
    return _lines(result) or "No campaign is published at this crowd."


def _lines(result: Result) -> list[str]:
    return [_worded(name, report) for name, report in result["campaigns"].items()]


def reconcile_campaigns(name: str | None, live: bool, **how: bool) -> Result:
    """Compare published campaigns with the crowd's own record, and repair differences.

    Reports every repair, and what is left for you to decide.
    """
    reports: dict[Campaign, Reconciled] = {}
    for campaign, crowd in _chosen(name, live=live):
        with watched(RECONCILE, campaign) as run:
            reports[campaign] = compare(campaign, crowd, how, run)
    result: Result = {"campaigns": {str(one): asdict(reports[one]) for one in reports}}
    for campaign, report in reports.items():
        if report.stopped_by:
            print(*_lines(result), sep="\n", file=sys.stderr)  # what was repaired all the same
            raise UserError(ended_early(campaign, report))
    return result


reconcile_campaigns.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        parameter("name", Name, default=None),
        *map(given, (*RECONCILE.arguments, LIVE)),
    ]
)
app.verb(RECONCILE.name, render=_repairs, panel=STEPS)(reconcile_campaigns)


def _chosen(name: str | None, *, live: bool) -> list[tuple[Campaign, Crowd]]:
    """The one named, or all that are published at the crowds that the settings point to."""
    published = Campaign.objects.exclude(endpoint="").order_by("pk")
    campaigns = [get_campaign(name)] if name else list(published)
    kinds = {campaign.policy.crowd for campaign in campaigns}
    crowds = {kind: open_crowd(kind, live=live) for kind in kinds}
    pairs = [(campaign, crowds[campaign.policy.crowd]) for campaign in campaigns]
    return [(one, crowd) for one, crowd in pairs if name or one.endpoint == crowd.site.endpoint]


def _worded(name: str, report: dict[str, Any]) -> str:
    repairs = sum(report["repaired"].values())
    lines = [f"{name}: {report['hits']} HITs compared, {repairs} repairs"]
    lines += [f"  mended: {sentence}" for sentence in report["done"]]
    lines += [f"  left to you: {sentence}" for sentence in report["manual"]]
    return "\n".join(lines)
