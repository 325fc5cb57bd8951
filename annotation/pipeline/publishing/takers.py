"""Who may still take which HIT of a campaign whose people are a team.

The rule is the crowd's own, by which a member is offered work (`inhouse.queue`), with what only
the campaign's record knows: who is excluded, who works elsewhere, who has judged what.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice

from django.db import connection
from django.db.models import Case, Count, Q, QuerySet, When

from annotation.access.roles import annotators_of
from annotation.crowd.inhouse import queue
from annotation.crowd.inhouse.models import Assignment as Taken
from annotation.crowd.inhouse.models import HitType, Member
from annotation.models import Campaign, Exclusion, Hit, Triplet
from annotation.pipeline.labelling.disagreements import said_enough
from annotation.pipeline.labelling.votes import ROWS
from annotation.pipeline.publishing.pilot_conditions import other_condition
from annotation.protocol.estimates.team_size import too_few_people
from annotation.protocol.policy.policy import Policy
from annotation.protocol.screening.qualification import TRIES

MOST_WAITING = 10_000  # for somebody, that an expert is given to decide
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
# decision, wants nobody.
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
                WHERE i.hit_id = asked.id AND t.status = 'open' {only})
) h JOIN inhouse_queue q ON q.id = h.queue_id
WHERE h.wanted > 0
"""


@dataclass(frozen=True)
class Stranded:
    """Assignments that are asked for and that nobody is left for."""

    assignments: int
    people: int  # so many more could take them all
    ties: int  # that wait for one of these
    others: int  # triplets that do, for a first vote or a second
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
    members = Member.team().filter(active=True, user__is_active=True)
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
    if not policy.crowd_traits.is_team:
        return None
    members = members_of(campaign) if campaign else Member.team().filter(active=True)
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
    """Nothing where the campaign is not published, or its people are no team."""
    hits = _with_takers(campaign, now)
    short = {hit: wanted - takers for hit, wanted, takers in hits if wanted > takers}
    left = list(_without_takers(campaign.triplets.all(), campaign.policy, hits))
    ties = sum(is_tie for _, is_tie in left)
    return Stranded(
        assignments=sum(short.values()),
        people=max(short.values(), default=0),
        ties=ties,
        others=len(left) - ties,
        closed=bool(short) and annotators_of(campaign) is not None,
        is_deserted=bool(short) and not Member.team().exists(),
    )


def waiting_for_somebody(
    campaign: Campaign, now: datetime, *, only: int | None = None
) -> QuerySet[Triplet]:
    """Open triplets that may be decided instead: ties, and those that nobody may take.

    Of the latter no more than MOST_WAITING. `only`: this one, if it is among them.
    """
    hits, triplets = _with_takers(campaign, now, only), campaign.triplets.all()
    if only is not None:
        triplets = triplets.filter(pk=only)
    first = islice(_without_takers(triplets, campaign.policy, hits), MOST_WAITING)
    left = Q(pk__in=[pk for pk, _ in first])
    return triplets.filter(left | said_enough(campaign.policy), status=Triplet.Status.OPEN)


def _without_takers(
    triplets: QuerySet[Triplet], policy: Policy, hits: Sequence[tuple[int, int, int]]
) -> Iterator[tuple[int, bool]]:
    """Triplets that nobody is left for in any HIT of theirs, and whether they are ties.

    Not asked of the database by HIT: they may be more than a statement takes.
    """
    left = {hit for hit, _, takers in hits if not takers}
    if not left:
        return
    taken = {hit for hit, _, takers in hits if takers}
    rows = triplets.filter(status=Triplet.Status.OPEN).order_by("pk")
    is_tie = Case(When(said_enough(policy), then=True), default=False)
    items = rows.annotate(is_tie=is_tie).values_list("pk", "is_tie", "items__hit")
    for (pk, tied), of_triplet in groupby(items.iterator(chunk_size=ROWS), lambda one: one[:2]):
        hits_of = {hit for *_, hit in of_triplet}
        if hits_of & left and not hits_of & taken:
            yield pk, tied


def _with_takers(
    campaign: Campaign, now: datetime, only: int | None = None
) -> list[tuple[int, int, int]]:
    """Each HIT that wants people: how many, and how many are left, no further than that.

    `only`: of this triplet.
    """
    policy = campaign.policy
    if not policy.crowd_traits.is_team or not campaign.endpoint:
        return []
    members = members_of(campaign).values_list("pk", flat=True)
    most = campaign.hits.order_by("-max_assignments").values_list("max_assignments", flat=True)
    statement = _TAKERS.format(
        members=", ".join(map(str, members)) or "NULL",
        rule=queue.rule("p.id"),
        has_judged=_HAS_JUDGED.format(hit="h.asked_id", worker="p.worker_id"),
        most=most.first() or 0,
        only="" if only is None else "AND i.triplet_id = %(only)s",
    )
    given = {"campaign": campaign.pk, "now": queue.stored(now), "crowd": policy.crowd, "only": only}
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())
