"""`quorum reconcile`: compares the database with the crowd's record, and repairs differences."""

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from annotation.access.audit_log import by_command, record
from annotation.commands.campaign_noun import Live
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.pipeline.reconcile.report import Reconciled
from annotation.pipeline.reconcile.run import reconcile
from annotation.pipeline.setup.create import get_campaign
from core.command import Noun, Result, progress
from core.errors import UserError
from core.output import Rendered

app = Noun(alone=True)


def _repairs(result: Result) -> Rendered:
    return _lines(result) or "No campaign is published at this crowd."


def _lines(result: Result) -> list[str]:
    return [_worded(name, found) for name, found in result["campaigns"].items()]


@app.verb("reconcile", render=_repairs)
def reconcile_campaigns(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One campaign; without it, all published ones."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Compare the assignments of every HIT, not only where the counts differ.",
        ),
    ] = False,
    all_gone: Annotated[
        bool,
        typer.Option(
            "--all-gone", help="Accept that the crowd knows none of the campaign's HITs any more."
        ),
    ] = False,
    live: Live = False,
) -> Result:
    """Compare published campaigns with the crowd's own record, and repair differences.

    Reports every repair, and what is left for you to decide.
    """
    how = {"full": full, "all_gone": all_gone}
    reports = {
        str(campaign): _reconciled(campaign, crowd, how)
        for campaign, crowd in _chosen(name, live=live)
    }
    result: Result = {"campaigns": {name: asdict(report) for name, report in reports.items()}}
    for campaign, report in reports.items():
        if report.stopped_by:
            print(*_lines(result), sep="\n", file=sys.stderr)  # what was repaired all the same
            raise UserError(
                f"The comparison of {campaign} ended early, run it again: {report.stopped_by}"
            )
    return result


def _reconciled(campaign: Campaign, crowd: Crowd, how: dict[str, Any]) -> Reconciled:
    # Of many transactions: that it was begun is written first, whatever comes of it.
    record(by_command(), "reconcile", campaign=campaign, details=how)
    with progress(None, f"Comparing {campaign}", " HITs") as bar:
        return reconcile(campaign, crowd, **how, progress=bar.update)


def _chosen(name: str | None, *, live: bool) -> list[tuple[Campaign, Crowd]]:
    """The one named, or all that are published at the crowds that the settings point to."""
    published = Campaign.objects.exclude(endpoint="").order_by("pk")
    campaigns = [get_campaign(name)] if name else list(published)
    kinds = {campaign.policy.crowd for campaign in campaigns}
    crowds = {kind: open_crowd(kind, live=live) for kind in kinds}
    pairs = [(campaign, crowds[campaign.policy.crowd]) for campaign in campaigns]
    return [(one, crowd) for one, crowd in pairs if name or one.endpoint == crowd.site.endpoint]


def _worded(name: str, found: dict[str, Any]) -> str:
    repairs = sum(found["repaired"].values())
    lines = [f"{name}: {found['hits']} HITs compared, {repairs} repairs"]
    lines += [f"  mended: {sentence}" for sentence in found["done"]]
    lines += [f"  left to you: {sentence}" for sentence in found["manual"]]
    return "\n".join(lines)
