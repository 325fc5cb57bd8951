"""What work pays an hour, by the time that it takes, and whether the crowd asks for more."""

from math import ceil

from django.db.models import QuerySet

from annotation.crowd.inhouse.models import PanelLink
from annotation.crowd.inhouse.visits import links_to
from annotation.models import Campaign
from core.text.money import money

HOUR = 3600
MEASURED = 5  # times from which on their median is told


def pay_an_hour(
    cents: int, *, measured: float | None, estimated: float | None = None, limit: float
) -> str:
    """In words, by the seconds that work took others, else by an estimate, else by its time limit;
    empty: it is not paid."""
    if not cents:
        return ""
    if measured:
        return f"about {_an_hour(cents, measured)}, by the time that it took others"
    if estimated:
        return f"about {_an_hour(cents, estimated)}, by an estimate of the time that it takes"
    return f"at least {_an_hour(cents, limit)}, even if you use all the time that you have"


def _an_hour(cents: int, seconds: float) -> str:
    return f"{money(round(cents * HOUR / seconds))} an hour"


def underpaid(campaign: Campaign) -> list[str]:
    """A sentence for each link whose visits, as measured, pay less than the crowd asks for."""
    policy, least = campaign.policy, campaign.policy.minimum.hourly_cents
    if not least:
        return []
    sentences = []
    for link in _measured(campaign):
        seconds = link.median_seconds or 1
        if link.tasks * policy.reward_cents * HOUR // seconds < least:
            pays = _an_hour(link.tasks * policy.reward_cents, seconds)
            sentences.append(
                f"{_visits(link.tasks)} take {ceil(seconds / 60)} minutes (the median at "
                f"{policy.crowd_traits.title}) and so pay {pays}, less than "
                f"the {money(least)} that it asks for. Pay the difference as bonuses, and pay "
                "more for a task in another campaign."
            )
    return list(dict.fromkeys(sentences))


def minutes_of(campaign: Campaign, tasks: int) -> int | None:
    """That so many tasks have taken by the campaign's links so far."""
    rates = [(link.median_seconds or 0) / link.tasks for link in _measured(campaign)]
    return ceil(max(rates) * tasks / 60) if rates else None


def _measured(campaign: Campaign) -> QuerySet[PanelLink]:
    return links_to(campaign.hit_type_id).exclude(median_seconds=None).order_by("pk")


def _visits(tasks: int) -> str:
    return "Visits of one task" if tasks == 1 else f"Visits of {tasks} tasks"
