"""What a campaign needs at its crowd before the first HIT: one endpoint, qualifications, money."""

from annotation.crowd.port import Crowd
from annotation.crowd.qualification_url import qualification_test_url
from annotation.models import Campaign
from annotation.pipeline.outbox.hit_type import hit_type
from annotation.protocol.estimates.cost import assignment_cents
from core.errors import UserError
from core.text.money import money


def bind(campaign: Campaign, crowd: Crowd) -> None:
    """Tie the campaign to the endpoint it publishes at; refuse any other from then on."""
    # One update: of two first publications at different endpoints, only one can win.
    Campaign.objects.filter(pk=campaign.pk, endpoint="").update(endpoint=crowd.site.endpoint)
    campaign.refresh_from_db()
    check_endpoint(campaign, crowd)


def check_endpoint(campaign: Campaign, crowd: Crowd) -> None:
    check_place(campaign, crowd.site.endpoint)


def check_place(campaign: Campaign, endpoint: str) -> None:
    if campaign.endpoint not in ("", endpoint):
        raise UserError(
            f"Campaign {campaign} is published at {campaign.endpoint}, but the crowd set now is "
            f"{endpoint}: set AWS_ENDPOINT_URL_MTURK back, or create another campaign."
        )


def check_balance(campaign: Campaign, crowd: Crowd, *, hits: int) -> None:
    """Refuse to start what the account cannot pay: the first round of all unpublished HITs."""
    policy = campaign.policy
    needed = hits * policy.annotators * assignment_cents(policy)
    if needed and needed > (balance := crowd.balance_cents()):
        raise UserError(
            f"Publishing {hits} HITs costs {money(needed)} in the first round, but the "
            f"account at {crowd.site.endpoint} holds {money(balance)}: top it up first."
        )


def prepare(campaign: Campaign, crowd: Crowd) -> None:
    """The qualifications and the HIT type: the calls may be repeated."""
    policy = campaign.policy
    ours = f"Quorum {campaign.uid.hex[:16]}"
    if policy.exclude_by == "qualification" and not campaign.exclusion_id:
        campaign.exclusion_id = crowd.create_qualification(
            f"{ours}: no further work in this campaign",
            "Workers who hold this take no further part in the campaign.",
        )
        campaign.save(update_fields=["exclusion_id"])
    if not campaign.known_id:
        campaign.known_id = crowd.create_qualification(
            f"{ours}: has worked in this campaign",
            "Workers who hold this have submitted work of the campaign; the value is their number.",
        )
        campaign.save(update_fields=["known_id"])
    if policy.qualification_items and not campaign.qualified_id:
        campaign.qualified_id = crowd.create_qualification(
            f"{ours}: has passed the qualification test", _qualification_words(campaign)
        )
        campaign.save(update_fields=["qualified_id"])
    if not campaign.hit_type_id:
        spec = hit_type(policy, campaign.exclusion_id, qualified_id=campaign.qualified_id)
        campaign.hit_type_id = crowd.create_hit_type(spec)
        campaign.save(update_fields=["hit_type_id"])


def _qualification_words(campaign: Campaign) -> str:
    """MTurk shows them to workers who look at a HIT without the qualification."""
    return (
        "Workers who hold this have passed the qualification test, which is open to everybody at "
        f"{qualification_test_url(campaign)}; the value is the percent that they had right."
    )
