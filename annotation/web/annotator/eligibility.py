"""Whether a HIT is one for this member: what the crowd's own record cannot tell."""

import itertools
from collections.abc import Sequence

from django.db.models import QuerySet

from annotation.access.roles import kept_from
from annotation.crowd.accounts import campaigns_with_accounts
from annotation.crowd.inhouse.models import HitType, Member
from annotation.crowd.worker_notices import why_excluded
from annotation.models import Campaign, Hit, Pilot
from annotation.pipeline.manual.qualification import exclusion_of
from annotation.pipeline.publishing.pilot_conditions import (
    WITH_CONDITIONS,
    has_judged_other_condition,
)
from annotation.pipeline.publishing.takers import at_work_in, has_judged
from core.files.prepared import NUMBER, Prepared

NOT_OPEN = "This task is not open to you"
UNKNOWN = "Its campaign no longer exists. Return this task and take another one."
OTHER_CONDITION = "You work in another campaign with the same questions, and nobody judges in both."
KNOWN = "You have judged some of these questions before, and each needs a new annotator."
RETURN_IT = "Return this task, which costs you nothing, and take another one."
NOT_CHOSEN = "Only the campaign's own annotators can take this task. Ask its owner to add you."


def closed_queues(member: Member) -> frozenset[int]:
    """Primary keys of those whose HITs are not for this member."""
    kept = frozenset(queue for (queue,) in _KEPT_FROM.rows(member.user_id))
    conditions = other_conditions(member, _PILOTS.rows())
    if not conditions:
        return kept
    return kept | frozenset(_queues(Campaign.objects.filter(pk__in=conditions)))


def queues_of_others(member: Member) -> frozenset[int]:
    """Of campaigns that have annotators of their own."""
    return frozenset(queue for (queue,) in _KEPT_FROM.rows(member.user_id))


def _queues(campaigns: QuerySet[Campaign]) -> QuerySet[HitType, int]:
    ours = campaigns_with_accounts().filter(pk__in=campaigns.values("pk"))
    types = HitType.objects.filter(type_id__in=ours.values("hit_type_id"))
    return types.values_list("queue__pk", flat=True)


_KEPT_FROM = Prepared(lambda user: _queues(kept_from(user)), NUMBER)
_PILOTS = Prepared(
    lambda _: Pilot.objects.filter(shown__in=campaigns_with_accounts()).values_list(
        "shown_id", "hidden_id"
    )
)


def other_conditions(member: Member, conditions: Sequence[tuple[int, ...]]) -> set[int]:
    """Campaigns that are the other condition of one in which the member has had work in hand.

    `conditions`: the two campaigns of each pilot.
    """
    if not conditions:
        return set()
    campaigns = Campaign.objects.filter(pk__in=itertools.chain.from_iterable(conditions))
    assignments = at_work_in(campaigns).filter(member=member)
    types = HitType.objects.filter(queue__in=assignments.values("posted_hit__queue")).values(
        "type_id"
    )
    worked = set(campaigns.filter(hit_type_id__in=types).values_list("pk", flat=True))
    both_ways = itertools.chain(conditions, (condition[::-1] for condition in conditions))
    return {other for one, other in both_ways if one in worked}


def hit_of(key: str) -> Hit | None:
    hits = Hit.objects.select_related("campaign", "instructions", *WITH_CONDITIONS)
    return hits.filter(key=key).first()


def why_not_member(member: Member, hit: Hit | None) -> list[str]:
    """Sentences for the member; none: the HIT suits."""
    if hit is None:
        return [UNKNOWN]
    if sentences := why_not(hit, member.worker_id):
        return sentences
    return [NOT_CHOSEN] if kept_from(member.user).filter(pk=hit.campaign_id).exists() else []


def why_not(hit: Hit, worker_id: str) -> list[str]:
    """Sentences for a worker of whichever crowd; none: the campaign's record is not against it."""
    if exclusion := exclusion_of(hit.campaign, worker_id):
        return [*why_excluded(exclusion), RETURN_IT]
    if has_judged_other_condition(hit.campaign, worker_id):
        return [OTHER_CONDITION, RETURN_IT]
    return [KNOWN, RETURN_IT] if has_judged(hit, worker_id) else []
