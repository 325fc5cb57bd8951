"""The controls that a campaign has of its own, and who has met them."""

from django.db import connection
from django.db.models import Count

from annotation.crowd.inhouse.models import Member
from annotation.models import Campaign, Control, HitItem
from annotation.pipeline.labelling.exposures import exposures
from annotation.pipeline.labelling.reveals import controls_revealed_to
from annotation.protocol.packing.own_controls import (
    MOST_MEETINGS,
    Exposure,
    OwnControl,
)
from core.files.prepared import ask

# Written out because every HIT is taken through it. What the member has met is read from the crowd
# itself: their work is collected only later.
_WITH_CONTROLS = """
SELECT h.id FROM annotation_hititem i JOIN annotation_hit asked ON asked.id = i.hit_id
JOIN inhouse_postedhit h ON h.hit_id = asked.crowd_id
WHERE h.is_open AND i.control_id IN ({controls})
AND NOT EXISTS (SELECT 1 FROM inhouse_assignment a
                WHERE a.member_id = %(member)s AND a.posted_hit_id = h.id)
"""
_PUT_OFF = _WITH_CONTROLS.format(
    controls="""
  SELECT i.control_id
  FROM (SELECT DISTINCT posted_hit_id FROM inhouse_assignment WHERE member_id = %(member)s) taken
  JOIN inhouse_postedhit h ON h.id = taken.posted_hit_id
  JOIN annotation_hit asked ON asked.crowd_id = h.hit_id
  JOIN annotation_hititem i ON i.hit_id = asked.id
  JOIN annotation_control c ON c.id = i.control_id
  WHERE c.drafted
  GROUP BY i.control_id HAVING COUNT(*) >= %(most)s"""
)


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


def hits_put_off(member: Member) -> frozenset[int]:
    """Primary keys of posted HITs that are new to the member, but not one of their controls.

    The member was told its right answer or, of a campaign's own, has met it MOST_MEETINGS times.
    """
    given = {"member": member.pk, "most": MOST_MEETINGS}
    put_off = frozenset(hit for (hit,) in ask(_PUT_OFF, given))
    if not (revealed := controls_revealed_to(member)):
        return put_off
    with connection.cursor() as cursor:
        cursor.execute(_WITH_CONTROLS.format(controls=", ".join(map(str, revealed))), given)
        return put_off | {hit for (hit,) in cursor.fetchall()}
