"""One pass over a campaign: collect, review and count what came in, send what follows."""

from dataclasses import asdict, dataclass
from datetime import datetime

from django.db.models import Max
from django.utils import timezone

from annotation.crowd.base import Crowd
from annotation.models import Assignment, Campaign, Triplet
from annotation.pipeline.claims import Clock, waiting
from annotation.pipeline.collect import collect
from annotation.pipeline.deliver import deliver
from annotation.pipeline.publish import bind
from annotation.pipeline.recompute import recompute
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
    new, known_until = _collect(campaign, crowd, clock, progress)
    found = recompute(campaign, until=known_until)
    after = deliver(campaign, crowd, clock=clock, progress=sending)
    left = waiting(campaign)
    return Pass(
        new=new,
        **asdict(found),
        sent=before.sent + after.sent,
        waiting=left,
        stopped_by=after.stopped_by or before.stopped_by,
        finished=not left and not is_open(campaign),
    )


def _collect(
    campaign: Campaign, crowd: Crowd, clock: Clock, progress: Progress
) -> tuple[int, datetime | None]:
    """How much is new, and the time up to which nothing handed in is missing.

    A look takes a while, and what is handed in meanwhile may be seen without what came shortly
    before it. What was known when a look began, and all before it, is complete when it ends.
    """
    known_until = newest(campaign)
    new = collect(campaign, crowd, clock=clock, progress=progress)
    if new:
        known_until = newest(campaign)
        new += collect(campaign, crowd, clock=clock, progress=progress)
    return new, known_until


def newest(campaign: Campaign) -> datetime | None:
    works = Assignment.objects.filter(hit__campaign=campaign)
    found: datetime | None = works.aggregate(last=Max("submitted_at"))["last"]
    return found


def is_open(campaign: Campaign) -> bool:
    """Whether votes are still missing."""
    return campaign.triplets.filter(status=Triplet.Status.OPEN).exists()
