"""A campaign's state as people and programs see it: complete where nothing is left to do."""

from typing import NamedTuple, cast

from django.db.models import BooleanField, ExpressionWrapper, QuerySet

from annotation.models import Campaign
from annotation.pipeline.publishing.completion import complete, is_complete


class CampaignState(NamedTuple):
    """A state as people and programs see it."""

    value: str
    label: str


COMPLETE = CampaignState("complete", "Complete")
STATES = [(each.value, each.label) for each in Campaign.State] + [tuple(COMPLETE)]


def with_completion(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Told in the same query: `state_of` asks for none of these again."""
    done = ExpressionWrapper(complete(), BooleanField())
    return cast(QuerySet[Campaign], campaigns.annotate(counted_complete=done))


def state_of(campaign: Campaign) -> CampaignState:
    known = getattr(campaign, "counted_complete", None)
    done = is_complete(campaign) if known is None else known
    return COMPLETE if done else as_stored(campaign)


def as_stored(campaign: Campaign) -> CampaignState:
    return CampaignState(campaign.state, Campaign.State(campaign.state).label)
