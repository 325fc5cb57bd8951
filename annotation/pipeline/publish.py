"""Write down that a campaign's packed HITs are to be published; `deliver` sends them."""

import hashlib

from django.db import transaction

from annotation.crowd.base import Crowd, HitTypeSpec
from annotation.models import Campaign, Hit, Intent
from annotation.protocol.cost import assignment_cents
from annotation.protocol.policy import Policy
from retrieval.errors import UserError


def publish(campaign: Campaign, crowd: Crowd) -> int:
    """One intent for each HIT that has none; how many were written. Safe to repeat."""
    waiting = campaign.hits.filter(crowd_id=None)
    if not campaign.hits.exists():
        raise UserError(
            f"Campaign {campaign} has no HITs: run `manage.py campaign pack {campaign}` first."
        )
    check_endpoint(campaign, crowd)
    check_balance(campaign, crowd, hits=waiting.count())
    # Only now: an address at which nobody answers, or nobody can pay, must not bind.
    bind(campaign, crowd)
    prepare(campaign, crowd)
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
        missing = waiting.exclude(intents__kind=Intent.Kind.CREATE).order_by("number")
        intents = [create_intent(campaign, hit) for hit in missing]
        Intent.objects.bulk_create(intents, batch_size=1000)
        retry_failed(campaign)
    return len(intents)


def bind(campaign: Campaign, crowd: Crowd) -> None:
    """Tie the campaign to the endpoint it publishes at; refuse any other from then on."""
    # One update: of two first publications at different endpoints, only one can win.
    Campaign.objects.filter(pk=campaign.pk, endpoint="").update(endpoint=crowd.endpoint)
    campaign.refresh_from_db()
    check_endpoint(campaign, crowd)


def check_endpoint(campaign: Campaign, crowd: Crowd) -> None:
    if campaign.endpoint not in ("", crowd.endpoint):
        raise UserError(
            f"Campaign {campaign} is published at {campaign.endpoint}, but the crowd set now is "
            f"{crowd.endpoint}: set AWS_ENDPOINT_URL_MTURK back, or create a campaign of its own."
        )


def check_balance(campaign: Campaign, crowd: Crowd, *, hits: int) -> None:
    """Refuse to start what the account cannot pay: the first round of all unpublished HITs."""
    policy = campaign.policy
    needed = hits * policy.annotators * assignment_cents(policy)
    if needed and needed > (balance := crowd.balance_cents()):
        raise UserError(
            f"Publishing {hits} HITs costs ${needed / 100:,.2f} in the first round, but the "
            f"account at {crowd.endpoint} holds ${balance / 100:,.2f}: top it up first."
        )


def prepare(campaign: Campaign, crowd: Crowd) -> None:
    """The qualification that shuts workers out, and the HIT type: both calls may be repeated."""
    policy = campaign.policy
    if policy.exclude_by == "qualification" and not campaign.exclusion_id:
        name = f"Quorum {campaign.uid.hex[:16]}: no further work in this campaign"
        campaign.exclusion_id = crowd.create_exclusion(name)
        campaign.save(update_fields=["exclusion_id"])
    if not campaign.hit_type_id:
        campaign.hit_type_id = crowd.create_hit_type(hit_type(policy, campaign.exclusion_id))
        campaign.save(update_fields=["hit_type_id"])


def hit_type(policy: Policy, exclusion_id: str) -> HitTypeSpec:
    return HitTypeSpec(
        title=policy.title,
        description=policy.description,
        keywords=policy.keywords,
        reward_cents=policy.reward_cents,
        assignment_seconds=policy.assignment_minutes * 60,
        auto_approval_seconds=policy.auto_approval_days * 86400,
        masters=policy.masters,
        min_approval_percent=policy.min_approval_percent,
        min_approved=policy.min_approved,
        exclusion_id=exclusion_id or None,
    )


def create_intent(campaign: Campaign, hit: Hit) -> Intent:
    return Intent(
        campaign=campaign,
        kind=Intent.Kind.CREATE,
        token=token("create", hit.key),
        hit=hit,
        places=hit.places,
    )


def token(*parts: object) -> str:
    """At most 64 characters, the same for the same effect, different for any other."""
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()


def retry_failed(campaign: Campaign) -> int:
    """Give what failed for good another try: publishing again is how a person asks for it."""
    failed = campaign.intents.filter(state=Intent.State.FAILED)
    return failed.update(state=Intent.State.PENDING)
