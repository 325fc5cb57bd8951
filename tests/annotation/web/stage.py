"""An in-house campaign with open HITs, and people of the team and beside it."""

from datetime import timedelta

from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from lxml import html

from annotation.crowd.factory import site_of
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Assignment, Member
from annotation.crowd.port import HitTypeSpec
from annotation.models import Campaign, Hit
from annotation.protocol.policy.crowds import INHOUSE, CrowdTraits
from tests.annotation.support.hits import make_campaign, make_hit
from tests.support.pages import Response

PASSWORD = "a long sentence of hers"
HOUR = 3600


def make_member(name: str, *, active: bool = True) -> Member:
    user = User.objects.create_user(name)
    return Member.objects.create(user=user, active=active, joined_at=timezone.now())


def staff(name: str, *permissions: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def offer_hits(
    name: str = "faq",
    *,
    hits: int = 1,
    max_assignments: int = 2,
    traits: CrowdTraits = INHOUSE,
    **policy: object,
) -> list[Hit]:
    """Publishes a campaign's HITs as `publish` does, and gives them back."""
    crowd = InhouseCrowd(site_of(traits.kind))
    campaign = make_campaign(name, **{**traits.defaults(), "title": f"Judge {name}", **policy})
    campaign.exclusion_id = crowd.create_qualification(f"out of {name}", "Excluded.")
    if campaign.policy.qualification_items:
        campaign.qualified_id = crowd.create_qualification(f"practised {name}", "Passed.")
    campaign.hit_type_id = crowd.create_hit_type(_spec(campaign))
    campaign.endpoint = crowd.site.endpoint
    campaign.save()
    return [_publish(crowd, campaign, number, max_assignments) for number in range(hits)]


def _spec(campaign: Campaign) -> HitTypeSpec:
    policy = campaign.policy
    return HitTypeSpec(
        title=policy.title,
        description=policy.description,
        keywords="questions",
        reward_cents=policy.reward_cents,
        assignment_seconds=HOUR,
        auto_approval_seconds=HOUR,
        masters=False,
        min_approval_percent=0,
        min_approved=0,
        exclusion_id=campaign.exclusion_id or None,
        qualified_id=campaign.qualified_id or None,
    )


def _publish(crowd: InhouseCrowd, campaign: Campaign, number: int, max_assignments: int) -> Hit:
    texts = [(f"query {number} {row}", f"question {number} {row}", "answer") for row in range(5)]
    hit = make_hit(campaign, real=texts, max_assignments=max_assignments)
    hit.crowd_id = crowd.create_hit(
        hit_type_id=campaign.hit_type_id,
        url="",
        max_assignments=max_assignments,
        lifetime_seconds=24 * HOUR,
        token=hit.key,
        annotation=hit.key,
    )
    hit.save()
    return hit


def sheet(hit: Hit, value: str = "1", *, without: int = 0) -> dict[str, str]:
    """The form of a HIT with one answer throughout, but for so many items."""
    keys = list(hit.items.order_by("position").values_list("key", flat=True))
    return {f"item-{key}": value for key in keys[without:]}


def start(client: Client, **form: str) -> str:
    """The address of the HIT that is taken."""
    response = client.post("/work/next", form)
    assert response.status_code == 303
    return response["Location"]


def hit_at(address: str) -> Hit:
    work = Assignment.objects.get(assignment_id=address.rpartition("/")[2])
    return Hit.objects.get(key=work.posted_hit.annotation)


def text(response: Response) -> str:
    document = html.document_fromstring(response.content.decode())
    return " ".join(" ".join(document.itertext()).split())


def expire(address: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Assignment.objects.filter(assignment_id=address.rpartition("/")[2]).update(deadline=past)
