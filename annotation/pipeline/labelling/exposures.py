"""Who has met which control, in the HITs that they took."""

from collections.abc import Collection, Mapping, Set

from django.db.models import Count, Q, QuerySet

from annotation.models import Campaign, HitItem
from annotation.pipeline.labelling.reveals import reveal_values
from annotation.protocol.packing.own_controls import Exposure, exposures_of

# Of items: those of a campaign's own controls, and of the pool that all campaigns share.
OF_ANY = Q(control__isnull=False)
OWN, OF_POOL = OF_ANY & Q(control__drafted=True), OF_ANY & Q(control__campaign=None)


def exposures(campaign: Campaign, which: Q = OWN) -> Mapping[int, Exposure]:
    """Of each of these controls that somebody has met in the campaign."""
    known = {(control, worker) for _, control, worker in revealed(campaign)}
    rows = meetings(campaign, which).values_list("control", "hit__assignments__worker")
    return exposures_of(
        (control, times, (control, worker) in known)
        for control, worker, times in rows.annotate(times=Count("pk"))
    )


def meetings(
    campaign: Campaign, which: Q, hits: Collection[int] | None = None
) -> QuerySet[HitItem]:
    """Items, each as often as an assignment has its HIT: in these HITs, or in all."""
    taken = HitItem.objects.filter(which, hit__campaign=campaign, hit__assignments__isnull=False)
    return (taken if hits is None else taken.filter(hit__in=hits)).order_by()


def revealed(campaign: Campaign) -> Set[tuple[int, int, int]]:
    """HIT, control and worker who was told the control's answer."""
    if not campaign.policy.crowd_traits.has_accounts:
        return frozenset()
    columns = "item__hit", "item__control", "assignment__worker"
    return reveal_values(*columns, which=Q(item__hit__campaign=campaign))
