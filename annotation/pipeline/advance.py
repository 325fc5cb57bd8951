"""One pass over a campaign: collect, review and count what came in, send what follows."""

from dataclasses import dataclass

from django.utils import timezone

from annotation.crowd.base import Crowd
from annotation.models import Campaign, Triplet
from annotation.pipeline.collect import collect
from annotation.pipeline.deliver import Clock, deliver, waiting
from annotation.pipeline.label import label
from annotation.pipeline.publish import bind
from annotation.pipeline.review import review
from retrieval.errors import UserError
from retrieval.progress import Progress, no_progress


@dataclass(frozen=True)
class Pass:
    """What one pass found and did; `finished` when nothing is left to wait for."""

    new: int
    passed: int
    failed: int
    excluded: int
    labelled: int
    open: int
    unresolved: int
    places_opened: int
    sent: int
    waiting: int
    stopped_by: str | None
    finished: bool


def advance(
    campaign: Campaign,
    crowd: Crowd,
    *,
    clock: Clock = timezone.now,
    progress: Progress = no_progress,
    sending: Progress = no_progress,
) -> Pass:
    """Every step can be lost or run twice: each finds its own work in the database.

    `progress` counts the HITs that are fetched, `sending` the calls that follow.
    """
    if not campaign.endpoint:
        raise UserError(
            f"Campaign {campaign} is not published: run `manage.py campaign publish {campaign}`."
        )
    bind(campaign, crowd)
    # What an earlier pass decided goes out first: the crowd's counts below then include it.
    before = deliver(campaign, crowd, clock=clock, progress=sending)
    new = collect(campaign, crowd, progress=progress)
    reviewed = review(campaign)
    labelled = label(campaign)
    after = deliver(campaign, crowd, clock=clock, progress=sending)
    left = waiting(campaign)
    return Pass(
        new=new,
        passed=reviewed.passed,
        failed=reviewed.failed,
        excluded=reviewed.excluded,
        labelled=labelled.labelled,
        open=labelled.open,
        unresolved=labelled.unresolved,
        places_opened=labelled.places_opened,
        sent=before.sent + after.sent,
        waiting=left,
        stopped_by=after.stopped_by or before.stopped_by,
        finished=not left and not is_open(campaign),
    )


def is_open(campaign: Campaign) -> bool:
    """Whether votes are still missing."""
    return campaign.triplets.filter(status=Triplet.Status.OPEN).exists()
