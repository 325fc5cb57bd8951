"""The worker's side: take a place, hand it in, give it back.

A place is taken by one conditional update of its HIT's open places, so that never more are taken
than there are; the database's constraints see to it that nobody has two of one HIT.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, Sum

from annotation.crowd.inhouse import queue
from annotation.crowd.inhouse.leases import lapse, open_again, sweep
from annotation.crowd.inhouse.models import HANDED_IN, Bonus, Member, Offer, Queue, Work

MOST_COUNTED = 1000
MOST_ANSWER_BYTES = 262_144
# A page that is left open for ever does not keep its HIT for ever.
MOST_LEASES = 8
ROUNDS = 10
RUN_OUT = "The time for this HIT has run out, and its place is no longer free: take another one."


class Refused(Exception):
    """What a member asked for cannot be; one sentence for the reader, and the HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Offered:
    """HITs that a member sees as one line."""

    hit_type: str
    title: str
    description: str
    reward_cents: int
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
    member: Member, *, hit_type: str = "", closed: Collection[int] = (), now: datetime
) -> Work | None:
    """The HIT in hand, else a new one, of `hit_type` where it is given; None: there is none.

    `closed`: primary keys of queues that are not for this member.
    """
    for _ in range(ROUNDS):  # until others take no more of what was found
        found = False
        for candidate in queue.candidates(member, hit_type, now, closed=closed):
            found = True
            try:
                work = _claim(member, candidate, now)
            except IntegrityError:  # the member has one in hand: hardly anybody who asks for more
                if held := _one_in_hand(member, now):
                    return held
                break  # its time ran out: now that it has lapsed, it comes last
            if work is not None:
                return work
        if found:
            continue
        # Only now: what others left lying need not be looked for while there is enough.
        opened = sweep(now)
        if held := _one_in_hand(member, now):
            return held
        if not opened:
            break
    return None


def _one_in_hand(member: Member, now: datetime) -> Work | None:
    lapse(Q(member=member), now)
    return Work.objects.filter(member=member, status=Work.Status.ACCEPTED).first()


@transaction.atomic
def _claim(member: Member, candidate: queue.Candidate, now: datetime) -> Work | None:
    if not _take_place(candidate.offer, now):
        return None
    return Work.objects.create(
        offer_id=candidate.offer,
        member=member,
        accepted_at=now,
        deadline=now + timedelta(seconds=candidate.assignment_seconds),
    )


def _take_place(offer: int, now: datetime) -> bool:
    free = Offer.objects.filter(pk=offer, on_offer=True, open_places__gt=0, expires_at__gt=now)
    return bool(free.update(open_places=F("open_places") - 1))


def revive(member: Member, assignment_id: str, *, now: datetime) -> Work:
    """The member's own, still to be handed in; what ran out is lent again.

    For a lease from now, within MOST_LEASES in all, and only while its place is free.
    """
    work = _own(member, assignment_id)
    late = work.status == Work.Status.ACCEPTED and work.deadline <= now
    if late or work.status == Work.Status.LAPSED:
        _lend_again(work, now)
        work = _own(member, assignment_id)
    if work.status in HANDED_IN:
        raise Refused(409, "You have handed in this HIT already.")
    if work.status == Work.Status.RETURNED:
        raise Refused(409, "You have given this HIT back: take another one.")
    if work.status == Work.Status.LAPSED:
        raise Refused(409, RUN_OUT)
    return work


def _lend_again(work: Work, now: datetime) -> None:
    lapse(Q(member=work.member_id), now)
    deadline = _prolonged(work, now)
    if deadline <= now:
        raise Refused(409, "The time for this HIT has run out: take another one.")
    try:
        _take_back(work, now, status=Work.Status.ACCEPTED, deadline=deadline)
    except IntegrityError as error:
        raise Refused(
            409, "The time for this HIT has run out, and you have taken another one since."
        ) from error


def _prolonged(work: Work, now: datetime) -> datetime:
    lease = timedelta(seconds=work.offer.queue.assignment_seconds)
    return max(work.deadline, min(now + lease, work.accepted_at + MOST_LEASES * lease))


def _own(member: Member, assignment_id: str) -> Work:
    work = Work.objects.filter(member=member, assignment_id=assignment_id).first()
    if work is None:
        raise Refused(404, "You have no such HIT: open it from your own page.")
    return work


def submit(
    member: Member, assignment_id: str, answers: Mapping[str, str], *, now: datetime
) -> None:
    """Hand in; what was handed in before stays as it was.

    Work whose time ran out is taken all the same while its place is free.
    """
    sheet = _sheet(answers)
    mine = Q(member=member, assignment_id=assignment_id)
    # However late: until its lease has lapsed, nobody else can have the place.
    if _hand_in(mine & Q(status=Work.Status.ACCEPTED), sheet, now):
        return
    work = _own(member, assignment_id)
    if work.status == Work.Status.LAPSED:
        _hand_in_late(work, sheet, now)
        work = _own(member, assignment_id)
    if work.status in HANDED_IN:
        return
    if work.status == Work.Status.RETURNED:
        raise Refused(409, "You have given this HIT back, so it cannot be handed in.")
    raise Refused(409, RUN_OUT)


def _sheet(answers: Mapping[str, str]) -> str:
    """ASCII, whatever was sent."""
    sheet = json.dumps(dict(answers))
    if len(sheet) > MOST_ANSWER_BYTES:
        raise Refused(422, f"The answers are larger than {MOST_ANSWER_BYTES:,} bytes.")
    return sheet


def _hand_in(which: Q, sheet: str, now: datetime) -> int:
    return Work.objects.filter(which).update(
        status=Work.Status.SUBMITTED, submitted_at=now, answers_json=sheet
    )


def _hand_in_late(work: Work, sheet: str, now: datetime) -> None:
    try:
        _take_back(work, now, status=Work.Status.SUBMITTED, submitted_at=now, answers_json=sheet)
    except IntegrityError as error:
        raise Refused(409, "You have taken this HIT once more: hand it in there.") from error


def _take_back(work: Work, now: datetime, **becomes: object) -> None:
    """What had lapsed, if its place can be had once more.

    IntegrityError: the member holds another place, of this HIT or, for work in hand, of any.
    """
    if not queue.admits(work.member, work.offer_id):
        return
    with transaction.atomic():
        if not _take_place(work.offer_id, now):
            return
        lapsed = Work.objects.filter(pk=work.pk, status=Work.Status.LAPSED)
        if not lapsed.update(**becomes):  # a second click was quicker
            transaction.set_rollback(True)


def give_back(member: Member, assignment_id: str, *, now: datetime) -> None:
    """Its place is free at once; success too where it is free already."""
    with transaction.atomic():
        mine = Work.objects.filter(member=member, assignment_id=assignment_id)
        if mine.filter(status=Work.Status.ACCEPTED).update(status=Work.Status.RETURNED):
            open_again(_own(member, assignment_id).offer_id)
            return
    if _own(member, assignment_id).status in HANDED_IN:
        raise Refused(409, "You have handed in this HIT already.")


def give_back_all(member: Member) -> None:
    """Whatever the member has in hand."""
    for work in Work.objects.filter(member=member, status=Work.Status.ACCEPTED):
        with transaction.atomic():
            mine = Work.objects.filter(pk=work.pk, status=Work.Status.ACCEPTED)
            if mine.update(status=Work.Status.RETURNED):
                open_again(work.offer_id)


def renew(member: Member, assignment_id: str, *, now: datetime) -> datetime:
    """More time for who is at it, up to MOST_LEASES in all; the new deadline."""
    work = revive(member, assignment_id, now=now)
    deadline = _prolonged(work, now)
    # It may have lapsed or been handed in since.
    still = Work.objects.filter(pk=work.pk, status=Work.Status.ACCEPTED)
    if not still.update(deadline=deadline):
        deadline = revive(member, assignment_id, now=now).deadline
    return deadline


def offers(member: Member, *, now: datetime) -> list[Offered]:
    """What the member could take, the oldest queue first."""
    sweep(now)
    queues = Queue.objects.in_bulk(list(queue.open_queues(member)))
    lines = [
        Offered(
            hit_type=line.queue_id,
            title=line.title,
            description=line.description,
            reward_cents=line.reward_cents,
            count=queue.count(member, pk, now, most=MOST_COUNTED),
        )
        for pk, line in sorted(queues.items())
    ]
    return [line for line in lines if line.count]


def in_hand(member: Member, *, now: datetime) -> list[Work]:
    """At most one."""
    held = _one_in_hand(member, now)
    return [] if held is None else [held]


def tally(member: Member) -> Tally:
    rows = (
        Work.objects.filter(member=member, status__in=HANDED_IN)
        .values_list("status")
        .annotate(works=Count("pk"), cents=Sum("offer__queue__reward_cents"))
    )
    works = {status: (count, cents) for status, count, cents in rows}
    submitted, approved, rejected = (works.get(status, (0, 0)) for status in HANDED_IN)
    bonuses = Bonus.objects.filter(work__member=member).aggregate(cents=Sum("cents"))
    return Tally(
        submitted=submitted[0],
        approved=approved[0],
        rejected=rejected[0],
        earned_cents=approved[1],
        bonus_cents=bonuses["cents"] or 0,
        pending_cents=submitted[1],
    )
