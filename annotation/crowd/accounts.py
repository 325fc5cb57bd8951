"""Crowds whose people have accounts on this site: their campaigns, and their members as workers."""

from django.db.models import QuerySet

from annotation.crowd.factory import site_of
from annotation.crowd.inhouse.models import Member
from annotation.models import Campaign, Worker
from annotation.protocol.policy.crowds import CROWDS

KINDS = [kind for kind, traits in CROWDS.items() if traits.has_accounts]


def campaigns_with_accounts() -> QuerySet[Campaign]:
    """The published ones."""
    return Campaign.objects.filter(endpoint__in=[site_of(kind).endpoint for kind in KINDS])


def campaigns_of(member: Member) -> QuerySet[Campaign]:
    """Those of the member's own crowd."""
    return campaigns_with_accounts().filter(policy_data__crowd=member.crowd)


def workers_of(worker_id: str) -> QuerySet[Worker]:
    """A member as the record of votes knows them."""
    return Worker.objects.filter(crowd__in=KINDS, worker_id=worker_id)
