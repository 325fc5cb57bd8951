"""Whether a campaign has made what it is for; derived, for an exclusion may open it again."""

from typing import NamedTuple, cast

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from annotation.models import Assignment, Campaign, OutboxMessage, Triplet
from annotation.pipeline.outbox.claims import UNSENT


class Shown(NamedTuple):
    """A state as people and programs see it."""

    value: str
    label: str


COMPLETE = Shown("complete", "Complete")
STATES = [(each.value, each.label) for each in Campaign.State] + [tuple(COMPLETE)]


def is_complete(campaign: Campaign) -> bool:
    return Campaign.objects.filter(complete(), pk=campaign.pk).exists()


def with_completion(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Told in the same query: `state_of` asks for none of these again."""
    done = ExpressionWrapper(complete(), BooleanField())
    return cast(QuerySet[Campaign], campaigns.annotate(counted_complete=done))


def state_of(campaign: Campaign) -> Shown:
    known = getattr(campaign, "counted_complete", None)
    done = is_complete(campaign) if known is None else known
    return COMPLETE if done else as_stored(campaign)


def as_stored(campaign: Campaign) -> Shown:
    return Shown(campaign.state, Campaign.State(campaign.state).label)


def complete() -> Q:
    """Of published campaigns: each triplet is labelled or unresolved, and nothing is under way."""
    triplets = Triplet.objects.filter(campaign=OuterRef("pk"))
    to_review = Assignment.objects.filter(hit__campaign=OuterRef("pk"), passed=None)
    waiting = OutboxMessage.objects.filter(campaign=OuterRef("pk"), state__in=UNSENT)
    return (
        ~Q(endpoint="")
        & ~Q(state=Campaign.State.CANCELLED)
        & Exists(triplets)
        & ~Exists(triplets.filter(status=Triplet.Status.OPEN))
        & ~Exists(to_review)
        & ~Exists(waiting)
    )
