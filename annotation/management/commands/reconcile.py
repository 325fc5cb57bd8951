"""`manage.py reconcile [NAME]`: compare ours with the crowd's, mend what differs, say what."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.access.audit_log import by_command, record
from annotation.crowd.factory import open_crowd
from annotation.crowd.port import Crowd
from annotation.models import Campaign
from annotation.pipeline.reconcile.report import Reconciled
from annotation.pipeline.reconcile.run import reconcile
from annotation.pipeline.setup.create import get_campaign
from core.command import QuorumCommand
from core.errors import UserError


class Command(QuorumCommand):
    help = (
        "Compares published campaigns with the crowd's own record, mends each difference and says "
        "what it did, and what is left to a person."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", help="the campaign's name (default: all published)")
        parser.add_argument(
            "--full",
            action="store_true",
            help="compare every HIT's assignments one by one, not only where the counts differ",
        )
        parser.add_argument(
            "--all-gone",
            action="store_true",
            help="believe the crowd that it knows none of the campaign's HITs any more",
        )
        parser.add_argument(
            "--live", action="store_true", help="really spend money on production MTurk"
        )

    def run(self, *args: Any, **options: Any) -> dict[str, object]:
        chosen = _chosen(options["name"], live=options["live"])
        reports = {str(campaign): self._one(campaign, crowd, options) for campaign, crowd in chosen}
        result: dict[str, object] = {
            "campaigns": {name: asdict(report) for name, report in reports.items()}
        }
        for campaign, report in reports.items():
            if report.stopped_by:
                self.stderr.write(self.render(result))  # what was mended all the same
                raise UserError(
                    f"The comparison of {campaign} ended early, run it again: {report.stopped_by}"
                )
        return result

    def _one(self, campaign: Campaign, crowd: Crowd, options: dict[str, Any]) -> Reconciled:
        how = {"full": options["full"], "all_gone": options["all_gone"]}
        # Of many transactions: that it was begun is written first, whatever comes of it.
        record(by_command(), "reconcile", campaign=campaign, details=how)
        with self.progress(None, f"comparing {campaign}", " HITs") as bar:
            return reconcile(
                campaign,
                crowd,
                full=options["full"],
                all_gone=options["all_gone"],
                progress=bar.update,
            )

    def render(self, result: dict[str, object]) -> str:
        campaigns = result["campaigns"]
        assert isinstance(campaigns, dict)
        if not campaigns:
            return "No campaign is published at this crowd."
        return "\n".join(_worded(name, found) for name, found in campaigns.items())


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
    lines += [f"  left to you: {sentence}" for sentence in found["by_hand"]]
    return "\n".join(lines)
