"""How fast a member works, and when a break would do them good: from when the crowd lent and got
back their last tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from annotation.crowd.inhouse.models import SUBMITTED_OR_DECIDED, Assignment, Member
from core.text.words import plural

LOOKED_AT = 200  # of the last tasks
LEAST = 3  # tasks of a kind, before it is said
BREAK = timedelta(minutes=5)  # a gap as long as this is one
TIRING = timedelta(minutes=45)


@dataclass(frozen=True)
class Stretch:
    """One task."""

    queue: str
    began: datetime
    ended: datetime

    @property
    def seconds(self) -> float:
        return (self.ended - self.began).total_seconds()


def last_work(member: Member) -> list[Stretch]:
    """The newest first."""
    done = Assignment.objects.filter(member=member, status__in=SUBMITTED_OR_DECIDED)
    times = done.order_by("-submitted_at").values_list(
        "posted_hit__queue__queue_id", "accepted_at", "submitted_at"
    )
    return [Stretch(queue, began, ended) for queue, began, ended in times[:LOOKED_AT] if ended]


def eta(work: Sequence[Stretch], queue: str, left: int) -> str:
    """What a task of the queue takes this member, and those left; empty where too few tell it."""
    times = [one.seconds for one in work if one.queue == queue]
    if len(times) < LEAST:
        return ""
    usual = median(times)
    rest = f": about {duration(usual * left)} for the rest" if left else ""
    return f"about {duration(usual)} each{rest}"


def duration(seconds: float) -> str:
    """Rounded as people say it."""
    if seconds < 90:
        return plural(max(1, round(seconds)), "second")
    if seconds < 90 * 60:
        return plural(round(seconds / 60), "minute")
    return plural(round(seconds / 3600), "hour")


def wants_break(work: Sequence[Stretch], now: datetime) -> bool:
    """Whether they have worked for long, up to now, with no gap that is a break."""
    since = later = now
    for one in work:
        if later - one.ended >= BREAK:
            break
        since = later = one.began
    return now - since >= TIRING
