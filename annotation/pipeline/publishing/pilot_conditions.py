"""A worker of one condition of a pilot gets no HIT of the other: they would remember the answer."""

from typing import cast

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Campaign, OutboxMessage, Worker
from annotation.pipeline.outbox.messages import token

# Of HITs, for callers that ask of each: then `other_condition` asks the database no more.
WITH_CONDITIONS = (
    "campaign__pilot_with_the_answer__hidden",
    "campaign__pilot_without_the_answer__shown",
)


def other_condition(campaign: Campaign) -> Campaign | None:
    """None where the campaign is no pilot's."""
    if pilot := getattr(campaign, "pilot_with_the_answer", None):
        return cast(Campaign, pilot.hidden)
    if pilot := getattr(campaign, "pilot_without_the_answer", None):
        return cast(Campaign, pilot.shown)
    return None


def has_judged_other_condition(campaign: Campaign, worker_id: str) -> bool:
    """As far as their work there is known here."""
    other = other_condition(campaign)
    if other is None:
        return False
    assignments = Assignment.objects.filter(hit__campaign=other, worker__crowd=other.policy.crowd)
    return assignments.filter(worker__worker_id=worker_id).exists()


def keep_apart(campaign: Campaign) -> int:
    """Exclude from this condition the workers of the other; the number of new messages.

    Nobody who has worked here too: their votes are there, and the report counts them. A policy
    that excludes by blocking would block them everywhere: there our page alone refuses them.
    """
    other = other_condition(campaign)
    if other is None or campaign.policy.exclude_by == "block":
        return 0
    there = Assignment.objects.filter(hit__campaign=other, worker=OuterRef("pk"))
    here = Assignment.objects.filter(hit__campaign=campaign, worker=OuterRef("pk"))
    sent = campaign.outbox.filter(kind=OutboxMessage.Kind.EXCLUDE, worker=OuterRef("pk"))
    workers = Worker.objects.filter(Exists(there), ~Exists(here), ~Exists(sent)).order_by("pk")
    messages = [
        OutboxMessage(
            campaign=campaign,
            kind=OutboxMessage.Kind.EXCLUDE,
            token=token("exclude", campaign.uid.hex, worker.pk, "condition"),
            worker=worker,
            reason=f"You work in {other}, which asks the same questions.",
        )
        for worker in workers
    ]
    OutboxMessage.objects.bulk_create(
        messages, ignore_conflicts=True
    )  # another pass may have been quicker
    return len(messages)
