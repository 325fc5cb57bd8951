"""Whether a HIT is one for this member: what the crowd's own record cannot tell."""

from datetime import datetime

from annotation.crowd.inhouse import desk
from annotation.crowd.inhouse.models import Member, Work
from annotation.exclusion_words import why_excluded
from annotation.models import Assignment, Hit, HitItem
from annotation.pipeline.practice import exclusion_of

MOST_TRIES = 25
UNKNOWN = "Its campaign is not here any more: give it back and take another one."
KNOWN = (
    "You have judged some of these questions before, and each of them needs another pair of eyes:"
    " give it back and take another one."
)


def take_suitable(
    member: Member, *, queue_id: str, skipped: int | None = None, now: datetime
) -> Work | None:
    """The HIT in hand, else another one that suits, but for the offer that was just `skipped`."""
    seen = {skipped}
    for _ in range(MOST_TRIES):
        work = desk.take(member, hit_type=queue_id, now=now)
        if work is None:
            return None
        if work.offer_id not in seen and not why_not(member, hit_of(work)):
            return work
        desk.give_back(member, work.assignment_id, now=now)
        if work.offer_id in seen:  # the crowd has nothing but these
            return None
        seen.add(work.offer_id)
    return None


def hit_of(work: Work) -> Hit | None:
    hits = Hit.objects.select_related("campaign", "instructions")
    return hits.filter(key=work.offer.annotation).first()


def why_not(member: Member, hit: Hit | None) -> list[str]:
    """Sentences for the member; none: the HIT suits."""
    if hit is None:
        return [UNKNOWN]
    if exclusion := exclusion_of(hit.campaign, member.worker_id):
        return why_excluded(exclusion)
    return [KNOWN] if _has_judged(member, hit) else []


def _has_judged(member: Member, hit: Hit) -> bool:
    """Whether the member has had one of the HIT's triplets before, in another HIT."""
    triplets = hit.items.exclude(triplet=None).values("triplet")
    others = HitItem.objects.filter(triplet__in=triplets).exclude(hit=hit)
    mine = Assignment.objects.filter(
        worker__crowd="inhouse", worker__worker_id=member.worker_id, hit__in=others.values("hit")
    )
    return mine.exists()
