"""Whether a HIT is one for this member: what the crowd's own record cannot tell."""

from annotation.crowd.inhouse.models import Member, Work
from annotation.exclusion_words import why_excluded
from annotation.models import Hit
from annotation.pipeline.practice import exclusion_of
from annotation.views.judging import has_judged

UNKNOWN = "Its campaign is not here any more: give it back and take another one."
KNOWN = (
    "You have judged some of these questions before, and each of them needs another pair of eyes:"
    " give it back and take another one."
)


def hit_of(work: Work) -> Hit | None:
    hits = Hit.objects.select_related("campaign", "instructions")
    return hits.filter(key=work.offer.annotation).first()


def why_not(member: Member, hit: Hit | None) -> list[str]:
    """Sentences for the member; none: the HIT suits."""
    if hit is None:
        return [UNKNOWN]
    if exclusion := exclusion_of(hit.campaign, member.worker_id):
        return why_excluded(exclusion)
    return [KNOWN] if has_judged(hit, member.worker_id) else []
