"""The worker's side: take an assignment, submit it, return it.

An assignment is taken by one conditional update of its HIT's open ones, so never more are taken
than there are; the database's constraints see to it that nobody has two of one HIT.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, Sum

from annotation.crowd.inhouse import queue
from annotation.crowd.inhouse.leases import lapse, open_again, sweep
from annotation.crowd.inhouse.models import (
    HANDED_IN,
    SUBMITTED_OR_DECIDED,
    Assignment,
    Bonus,
    Member,
    PostedHit,
    Queue,
    Visit,
)
from annotation.crowd.inhouse.visits import is_full, open_visit

MOST_COUNTED = 1000
MOST_ANSWER_BYTES = 262_144
# A page that is left open for ever does not keep its HIT for ever.
MOST_LEASES = 8
ROUNDS = 10
RUN_OUT = "The time for this task has run out, and it is no longer available: take another one."


class Refused(Exception):
    """What a member asked for cannot be; one sentence for the reader, and the HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class VisitOver(Exception):
    """Nothing more can be taken in it."""


@dataclass(frozen=True)
class OpenQueue:
    """HITs that a member sees as one line."""

    hit_type: str
    title: str
    description: str
    reward_cents: int
    seconds: int  # that a member has for one
    count: int  # no further than MOST_COUNTED


@dataclass(frozen=True)
class Tally:
    """What a member has done, and what it has brought."""

    submitted: int  # not decided yet
    approved: int
    rejected: int
    earned_cents: int
    bonus_cents: int
    pending_cents: int


def take(
    member: Member,
    *,
    hit_type: str = "",
    closed: Collection[int] = (),
    avoided: Collection[int] = (),
    now: datetime,
) -> Assignment | None:
    """The HIT in hand, else a new one, of `hit_type` where it is given; None: there is none.

    Whom a panel sent gets one of the visit that is open, of the last one where there are several.
    `closed`: primary keys of queues that are not for this member. `avoided`: of HITs that the
    member gets only where there is no other.
    """
    visit = open_visit(member, hit_type)
    if visit is not None:
        hit_type = visit.link.queue.queue_id
    candidates = partial(queue.candidates, member, hit_type, now, closed=closed, avoided=avoided)
    try:
        return _take(member, visit, candidates, now)
    except VisitOver:
        return None


def _take(
    member: Member,
    visit: Visit | None,
    candidates: Callable[[], Iterator[queue.Candidate]],
    now: datetime,
) -> Assignment | None:
    for _ in range(ROUNDS):  # until others take no more of what was found
        taken = False
        for candidate in candidates():
            taken = True
            try:
                assignment = _claim(member, candidate, visit, now)
            except IntegrityError:  # the member has one in hand: hardly anybody who asks for more
                if held := _one_in_hand(member, now):
                    return held
                break  # its time ran out: now that it has lapsed, it comes last
            if assignment is not None:
                return assignment
        if taken:
            continue
        # Only now: what others left lying need not be looked for while there is enough.
        opened = sweep(now)
        if held := _one_in_hand(member, now):
            return held
        if not opened:
            break
    return None


def _one_in_hand(member: Member, now: datetime) -> Assignment | None:
    lapse(Q(member=member), now)
    return Assignment.objects.filter(member=member, status=Assignment.Status.ACCEPTED).first()


@transaction.atomic
def _claim(
    member: Member, candidate: queue.Candidate, visit: Visit | None, now: datetime
) -> Assignment | None:
    if not _take_one(candidate.hit, now):
        return None
    if visit is not None or not member.is_of_team:
        _hold_open(visit)
    return Assignment.objects.create(
        posted_hit_id=candidate.hit,
        member=member,
        visit=visit,
        accepted_at=now,
        deadline=now + timedelta(seconds=candidate.assignment_seconds),
    )


def _hold_open(visit: Visit | None) -> None:
    """Until this transaction ends; VisitOver where it was finished meanwhile, in another tab."""
    still = Visit.objects.select_for_update().filter(finished_at=None)
    if visit is None or still.filter(pk=visit.pk).first() is None:
        raise VisitOver


def _take_one(hit: int, now: datetime) -> bool:
    free = PostedHit.objects.filter(
        pk=hit, is_open=True, open_assignments__gt=0, expires_at__gt=now
    )
    return bool(free.update(open_assignments=F("open_assignments") - 1))


def revive(member: Member, assignment_id: str, *, now: datetime) -> Assignment:
    """The member's own, still to be submitted; what ran out is lent again.

    For a lease from now, within MOST_LEASES in all, and only while its HIT has one open.
    """
    assignment = _own(member, assignment_id)
    late = assignment.status == Assignment.Status.ACCEPTED and assignment.deadline <= now
    if late or assignment.status == Assignment.Status.LAPSED:
        _lend_again(assignment, now)
        assignment = _own(member, assignment_id)
    if assignment.status in HANDED_IN:
        raise Refused(409, "You have submitted this task already.")
    if assignment.status == Assignment.Status.RETURNED:
        raise Refused(409, "You have returned this task: take another one.")
    if assignment.status == Assignment.Status.LAPSED:
        raise Refused(409, RUN_OUT)
    return assignment


def _lend_again(assignment: Assignment, now: datetime) -> None:
    lapse(Q(member=assignment.member_id), now)
    deadline = _prolonged(assignment, now)
    if deadline <= now:
        raise Refused(409, "The time for this task has run out: take another one.")
    try:
        _take_back(assignment, now, status=Assignment.Status.ACCEPTED, deadline=deadline)
    except IntegrityError as error:
        raise Refused(
            409, "The time for this task has run out, and you have taken another one since."
        ) from error


def _prolonged(assignment: Assignment, now: datetime) -> datetime:
    lease = timedelta(seconds=assignment.posted_hit.queue.assignment_seconds)
    return max(assignment.deadline, min(now + lease, assignment.accepted_at + MOST_LEASES * lease))


def _own(member: Member, assignment_id: str) -> Assignment:
    assignment = Assignment.objects.filter(member=member, assignment_id=assignment_id).first()
    if assignment is None:
        raise Refused(404, "You have no such task: open it from your own page.")
    return assignment


def submit(
    member: Member, assignment_id: str, answers: Mapping[str, str], *, now: datetime
) -> None:
    """Submit; what was submitted before stays as it was.

    Work whose time ran out is accepted all the same while its HIT has an assignment open.
    """
    sheet = _sheet(answers)
    mine = Q(member=member, assignment_id=assignment_id)
    # However late: until its lease has lapsed, nobody else can have the assignment.
    if _store_answers(mine & Q(status=Assignment.Status.ACCEPTED), _handed_in(member), sheet, now):
        return
    assignment = _own(member, assignment_id)
    if assignment.status == Assignment.Status.LAPSED:
        _submit_late(assignment, sheet, now)
        assignment = _own(member, assignment_id)
    if assignment.status in HANDED_IN:
        return
    if assignment.status == Assignment.Status.RETURNED:
        raise Refused(409, "You have returned this task, so you cannot submit it.")
    raise Refused(409, RUN_OUT)


def _sheet(answers: Mapping[str, str]) -> str:
    """ASCII, whatever was sent."""
    sheet = json.dumps(dict(answers))
    if len(sheet) > MOST_ANSWER_BYTES:
        raise Refused(422, f"The answers are larger than {MOST_ANSWER_BYTES:,} bytes.")
    return sheet


def _handed_in(member: Member) -> Assignment.Status:
    """What somebody on a visit hands in is submitted when the visit is finished."""
    status = Assignment.Status
    return status.SUBMITTED if member.is_of_team else status.HELD


def _store_answers(which: Q, status: Assignment.Status, sheet: str, now: datetime) -> int:
    return Assignment.objects.filter(which).update(
        status=status, submitted_at=now, answers_json=sheet
    )


def _submit_late(assignment: Assignment, sheet: str, now: datetime) -> None:
    try:
        _take_back(
            assignment,
            now,
            status=_handed_in(assignment.member),
            submitted_at=now,
            answers_json=sheet,
        )
    except IntegrityError as error:
        raise Refused(409, "You have taken this task again: submit it there.") from error


def _take_back(assignment: Assignment, now: datetime, **becomes: object) -> None:
    """What had lapsed, if its HIT has an assignment open.

    IntegrityError: the member has another assignment, of this HIT or, for one in hand, of any.
    """
    if not queue.may_take(assignment.member, assignment.posted_hit_id):
        return
    if assignment.visit_id is not None:  # it may be the person's next one by now
        visit = open_visit(assignment.member, assignment.posted_hit.queue.queue_id)
        if visit is None or is_full(visit):
            return
        becomes["visit"] = visit
    with transaction.atomic():
        if not _take_one(assignment.posted_hit_id, now):
            return
        lapsed = Assignment.objects.filter(pk=assignment.pk, status=Assignment.Status.LAPSED)
        if not lapsed.update(**becomes):  # a second click was quicker
            transaction.set_rollback(True)


def give_back(member: Member, assignment_id: str, *, now: datetime) -> None:
    """It is open to others at once; success too where it was given back already."""
    with transaction.atomic():
        mine = Assignment.objects.filter(member=member, assignment_id=assignment_id)
        if mine.filter(status=Assignment.Status.ACCEPTED).update(status=Assignment.Status.RETURNED):
            open_again(_own(member, assignment_id).posted_hit_id)
            return
    if _own(member, assignment_id).status in HANDED_IN:
        raise Refused(409, "You have submitted this task already.")


def renew(member: Member, assignment_id: str, *, now: datetime) -> datetime:
    """More time for who is at it, up to MOST_LEASES in all; the new deadline."""
    assignment = revive(member, assignment_id, now=now)
    deadline = _prolonged(assignment, now)
    # It may have lapsed or been submitted since.
    still = Assignment.objects.filter(pk=assignment.pk, status=Assignment.Status.ACCEPTED)
    if not still.update(deadline=deadline):
        deadline = revive(member, assignment_id, now=now).deadline
    return deadline


def queues_of(member: Member, *, now: datetime) -> list[Queue]:
    """Those open to the member, the oldest first."""
    sweep(now)
    queues = Queue.objects.in_bulk(list(queue.open_queues(member)))
    return [queues[pk] for pk in sorted(queues)]


def open_queues(
    member: Member, queues: Iterable[Queue] | None = None, *, now: datetime
) -> list[OpenQueue]:
    """What the member could take; of these queues, where the caller has them."""
    lines = [
        OpenQueue(
            hit_type=line.queue_id,
            title=line.title,
            description=line.description,
            reward_cents=line.reward_cents,
            seconds=line.assignment_seconds,
            count=queue.count(member, line.pk, now, most=MOST_COUNTED),
        )
        for line in (queues_of(member, now=now) if queues is None else queues)
    ]
    return [line for line in lines if line.count]


def queues_with_work(queues: Iterable[Queue], *, now: datetime) -> list[Queue]:
    """In which HITs wait for somebody."""
    waiting = PostedHit.objects.filter(is_open=True, open_assignments__gt=0, expires_at__gt=now)
    with_work = set(waiting.filter(queue__in=queues).values_list("queue_id", flat=True))
    return [one for one in queues if one.pk in with_work]


def in_hand(member: Member, *, now: datetime) -> list[Assignment]:
    """At most one."""
    held = _one_in_hand(member, now)
    return [] if held is None else [held]


def tally(member: Member) -> Tally:
    rows = (
        Assignment.objects.filter(member=member, status__in=SUBMITTED_OR_DECIDED)
        .values_list("status")
        .annotate(assignments=Count("pk"), cents=Sum("posted_hit__queue__reward_cents"))
    )
    counts = {status: (count, cents) for status, count, cents in rows}
    submitted, approved, rejected = (counts.get(status, (0, 0)) for status in SUBMITTED_OR_DECIDED)
    bonuses = Bonus.objects.filter(assignment__member=member).aggregate(cents=Sum("cents"))
    return Tally(
        submitted=submitted[0],
        approved=approved[0],
        rejected=rejected[0],
        earned_cents=approved[1],
        bonus_cents=bonuses["cents"] or 0,
        pending_cents=submitted[1],
    )
