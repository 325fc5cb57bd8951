"""Compare ours with the crowd's, and mend what differs.

Each repair is one transaction with the campaign locked, and looks again at what it mends: a
reconciliation may be lost anywhere, run twice, or meet the calls of a campaign in full swing.
"""

from dataclasses import astuple
from datetime import datetime

from django.db.models import Max
from django.utils import timezone

from annotation.crowd.port import Crowd, CrowdError
from annotation.models import Assignment, Campaign
from annotation.pipeline.outbox.claims import Clock
from annotation.pipeline.publishing.crowd_setup import check_endpoint
from annotation.pipeline.recompute import audit, recompute
from annotation.pipeline.reconcile.assignments import compare_assignments
from annotation.pipeline.reconcile.cancelled import answer_purchases
from annotation.pipeline.reconcile.hits import find_missing, meet_strangers, publish_again
from annotation.pipeline.reconcile.money import check_account, settle_decided
from annotation.pipeline.reconcile.report import Reconciled, Repair
from annotation.pipeline.reconcile.sizes import compare_sizes, compare_times
from annotation.pipeline.reconcile.snapshot import Sides, count_ours, list_theirs
from core.errors import UserError
from core.progress import Progress, no_progress


def reconcile(
    campaign: Campaign,
    crowd: Crowd,
    *,
    full: bool = False,
    all_gone: bool = False,
    clock: Clock = timezone.now,
    progress: Progress = no_progress,
) -> Reconciled:
    """`full`: the assignments of every HIT are compared, not only where the counts differ, and
    all that follows from the record is made from it again.

    `all_gone`: believe the crowd that it knows no HIT of the campaign any more.
    `progress` counts the HITs whose assignments are read.
    """
    check_published(campaign)
    check_endpoint(campaign, crowd)
    report = Reconciled()
    before = count_ours(campaign)
    sides = Sides(campaign, crowd, before, list_theirs(campaign, crowd), clock())
    report.hits, report.stopped_by = len(sides.listing.hits), sides.listing.error
    try:
        _compare(sides, report, full=full, all_gone=all_gone, progress=progress)
    except CrowdError as error:
        report.stopped_by = str(error)
    settle_decided(campaign, report)
    # What nobody has reviewed yet waits for the next pass, which knows when it is complete.
    if report.repairs:
        recompute(campaign, until=_reviewed_until(campaign), clock=clock)
    if full:
        _audit(campaign, report, clock)
    check_account(campaign, report)
    return report


def check_published(campaign: Campaign) -> None:
    if not campaign.endpoint:
        raise UserError(
            f"Campaign {campaign} is not published: there is nothing to compare it with."
        )


def _compare(
    sides: Sides, report: Reconciled, *, full: bool, all_gone: bool, progress: Progress
) -> None:
    """What the crowd answered before it failed is mended all the same."""
    meet_strangers(sides, report)
    find_missing(sides, report, all_gone=all_gone)
    publish_again(sides.campaign, report)
    answer_purchases(sides, report)
    after = count_ours(sides.campaign)
    compare_sizes(sides, after, report)
    compare_times(sides, report)
    compare_assignments(sides, after, report, full=full, progress=progress)


def _audit(campaign: Campaign, report: Reconciled, clock: Clock) -> None:
    """Of what the repairs above change, nothing counts: each pass follows such changes."""
    differences = audit(campaign, until=_reviewed_until(campaign), clock=clock)
    if differences:
        labels, exclusions, places, cents, tallies = astuple(differences)
        sentence = (
            f"What passes had stored was not what follows from the record: {labels} labels, "
            f"{exclusions} exclusions, {places} assignments to ask for, {cents} cents to release "
            f"and {tallies} tallies of the votes. All are right now."
        )
        report.did(Repair.RECOMPUTED, sentence, count=labels + exclusions + places + tallies or 1)


def _reviewed_until(campaign: Campaign) -> datetime:
    reviewed = Assignment.objects.filter(hit__campaign=campaign, passed__isnull=False)
    last: datetime | None = reviewed.aggregate(last=Max("submitted_at"))["last"]
    return last or campaign.created_at
