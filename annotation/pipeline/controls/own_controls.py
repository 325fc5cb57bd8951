"""The controls that a campaign has of its own, and who has met them."""

from collections.abc import Mapping

from django.db.models import Count, Q

from annotation.models import Campaign, Control, HitItem
from annotation.pipeline.controls.reveals import reveal_values
from annotation.protocol.packing.own_controls import Exposure, OwnControl, exposures_of


def has_own_controls(campaign: Campaign) -> bool:
    return campaign.controls.filter(drafted=True, retired_at=None).exists()


def is_packed_with_own(campaign: Campaign) -> bool:
    """Controls that are confirmed later change nothing, until the campaign is packed again."""
    return HitItem.objects.filter(hit__campaign=campaign, control__drafted=True).exists()


def own_controls(campaign: Campaign, kind: Control.Kind, *, fewest: int = 0) -> list[OwnControl]:
    """By how much they were used; what is worn comes last, and only up to `fewest` in all.

    Before a campaign is published nothing is worn.
    """
    query_keys = dict(campaign.query_set.queries.values_list("text", "key"))
    met = exposures(campaign)
    own = campaign.controls.filter(kind=kind, drafted=True, retired_at=None)
    rows = own.annotate(uses=Count("items")).order_by("uses", "key")
    controls = [
        (met.get(pk, Exposure()).is_worn, OwnControl(key, query_keys.get(query, query)))
        for pk, key, query in rows.values_list("pk", "key", "query")
    ]
    fresh = [control for is_worn, control in controls if not is_worn]
    worn = [control for is_worn, control in controls if is_worn]
    return [*fresh, *worn[: max(0, fewest - len(fresh))]]


def exposures(campaign: Campaign) -> Mapping[int, Exposure]:
    """Of each of the campaign's own controls that somebody has met."""
    shown = HitItem.objects.filter(hit__campaign=campaign, control__drafted=True)
    taken = shown.exclude(hit__assignments=None).order_by()
    rows = taken.values_list("control", "hit__assignments__worker")
    own = Q(item__control__in=campaign.controls.filter(drafted=True))
    known = reveal_values("item__control", "assignment__worker", which=own)
    return exposures_of(
        (control, times, (control, worker) in known)
        for control, worker, times in rows.annotate(times=Count("pk"))
    )
