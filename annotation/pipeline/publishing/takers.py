"""Who may still take which HIT of a campaign whose people have accounts here.

The rule is the crowd's own, by which a member is offered work (`inhouse.queue`), with what only
the campaign's record knows: who is excluded, who works elsewhere, who has judged what.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Count, Q, QuerySet

from annotation.access.roles import annotators_of
from annotation.crowd.inhouse import queue
from annotation.crowd.inhouse.models import Assignment as Taken
from annotation.crowd.inhouse.models import HitType, Member
from annotation.models import Campaign, Exclusion, Hit
from annotation.pipeline.labelling.disagreements import open_ties
from annotation.pipeline.labelling.votes import ROWS
from annotation.pipeline.publishing.pilot_conditions import other_condition
from annotation.protocol.estimates.team_size import too_few_people
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.qualification import TRIES

# Whether a worker has had one of a HIT's triplets before, in another HIT.
_HAS_JUDGED = """
EXISTS (SELECT 1 FROM annotation_hititem i
        JOIN annotation_hititem o ON o.triplet_id = i.triplet_id AND o.hit_id <> i.hit_id
        JOIN annotation_assignment a ON a.hit_id = o.hit_id
        JOIN annotation_worker w ON w.id = a.worker_id
        WHERE i.hit_id = {hit} AND w.crowd = %(crowd)s AND w.worker_id = {worker})
"""
# No more takers are counted than are wanted: while enough are left, only who stands before them
# and may not is looked at. A HIT whose triplets all have their labels, as after an expert's
# decision, may be left untaken.
_TAKERS = """
SELECT h.asked_id, h.wanted, (SELECT COUNT(*) FROM (
    SELECT 1 FROM inhouse_member p
    WHERE p.id IN ({members}) AND {rule} AND NOT {has_judged} LIMIT {most}) takers)
FROM (
  SELECT one.id, one.hit_type_id, one.queue_id, asked.id AS asked_id,
         one.open_assignments + CASE WHEN asked.max_assignments > one.max_assignments
                                THEN asked.max_assignments - one.max_assignments
                                ELSE 0 END AS wanted
  FROM inhouse_postedhit one JOIN annotation_hit asked ON asked.crowd_id = one.hit_id
  WHERE asked.campaign_id = %(campaign)s AND one.is_open AND one.expires_at > %(now)s
    AND EXISTS (SELECT 1 FROM annotation_hititem i JOIN annotation_triplet t ON t.id = i.triplet_id
                WHERE i.hit_id = asked.id AND t.status = 'open')
) h JOIN inhouse_queue q ON q.id = h.queue_id
WHERE h.wanted > 0
"""


@dataclass(frozen=True)
class Stranded:
    """Assignments that are asked for and that nobody is left for."""

    assignments: int
    people: int  # so many more could take them all
    ties: int  # triplets that wait for one of these, and may be decided instead
    closed: bool  # only the campaign's own annotators may take them
    is_deserted: bool = False  # nobody has ever joined the team


def has_judged(hit: Hit, worker_id: str) -> bool:
    """Whether the worker has had one of the HIT's triplets before, in another HIT."""
    statement = "SELECT 1 WHERE " + _HAS_JUDGED.format(hit="%(hit)s", worker="%(worker)s")
    crowd = hit.campaign.policy.crowd
    given: dict[str, int | str] = {"hit": hit.pk, "worker": worker_id, "crowd": crowd}
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return cursor.fetchone() is not None


def members_of(campaign: Campaign) -> QuerySet[Member]:
    """To whom the campaign is open, or would be after its qualification test."""
    members = Member.objects.filter(active=True, user__is_active=True)
    excluded = Exclusion.in_force(campaign)
    members = members.exclude(worker_id__in=excluded.values("worker__worker_id"))
    members = members.exclude(worker_id__in=_failed(campaign))
    if (annotators := annotators_of(campaign)) is not None:
        members = members.filter(user__in=annotators.values("user"))
    if (other := other_condition(campaign)) is not None:
        members = members.exclude(pk__in=at_work_in([other]).values("member"))
    return members


def too_small_a_team(policy: Policy, campaign: Campaign | None = None) -> str | None:
    """For a campaign that is there or still to come; None too where its people are not counted."""
    if not policy.crowd_traits.has_accounts:
        return None
    members = members_of(campaign) if campaign else Member.objects.filter(active=True)
    return too_few_people(members.count(), policy)


def at_work_in(campaigns: Iterable[Campaign]) -> QuerySet[Taken]:
    """What members have had in hand there, and not given back."""
    types = HitType.objects.filter(type_id__in=[one.hit_type_id for one in campaigns])
    gone = (Taken.Status.RETURNED, Taken.Status.LAPSED)
    return Taken.objects.filter(posted_hit__queue__in=types.values("queue")).exclude(
        status__in=gone
    )


def _failed(campaign: Campaign) -> list[str]:
    """All tries are used up."""
    results = campaign.qualification_results.order_by()
    counted = results.values("worker__worker_id").annotate(
        tries=Count("pk"), passes=Count("pk", filter=Q(passed=True))
    )
    failed = counted.filter(tries__gte=TRIES, passes=0)
    return list(failed.values_list("worker__worker_id", flat=True))


def stranded(campaign: Campaign, now: datetime) -> Stranded:
    """Nothing where the campaign is not published, or its people have no accounts here."""
    hits = _with_takers(campaign, now)
    short = {hit: wanted - takers for hit, wanted, takers in hits if wanted > takers}
    return Stranded(
        assignments=sum(short.values()),
        people=max(short.values(), default=0),
        ties=_ties_in(short, campaign) if short else 0,
        closed=bool(short) and annotators_of(campaign) is not None,
        is_deserted=bool(short) and not Member.objects.exists(),
    )


def _ties_in(hits: Container[int], campaign: Campaign) -> int:
    """Not asked of the database by HIT: they may be more than a statement takes."""
    rows = open_ties(campaign).order_by().values_list("pk", "items__hit")
    return len({triplet for triplet, hit in rows.iterator(chunk_size=ROWS) if hit in hits})


def _with_takers(campaign: Campaign, now: datetime) -> list[tuple[int, int, int]]:
    """Each HIT that wants people: how many, and how many are left, no further than that."""
    policy = campaign.policy
    if not policy.crowd_traits.has_accounts or not campaign.endpoint:
        return []
    members = members_of(campaign).values_list("pk", flat=True)
    most = campaign.hits.order_by("-max_assignments").values_list("max_assignments", flat=True)
    statement = _TAKERS.format(
        members=", ".join(map(str, members)) or "NULL",
        rule=queue.rule("p.id"),
        has_judged=_HAS_JUDGED.format(hit="h.asked_id", worker="p.worker_id"),
        most=most.first() or 0,
    )
    given = {"campaign": campaign.pk, "now": queue.stored(now), "crowd": policy.crowd}
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())
