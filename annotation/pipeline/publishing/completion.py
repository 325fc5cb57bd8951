"""Whether a campaign has made what it is for; derived, for an exclusion may open it again."""

from django.db.models import Exists, OuterRef, Q

from annotation.models import Assignment, Campaign, OutboxMessage, Triplet
from annotation.pipeline.outbox.claims import UNSENT
from core.files.prepared import NUMBER, Prepared


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


# Every page of a campaign asks.
_COMPLETE = Prepared(
    lambda pk: Campaign.objects.filter(complete(), pk=pk).values_list("pk"), NUMBER
)


def is_complete(campaign: Campaign) -> bool:
    return bool(_COMPLETE.rows(campaign.pk))
