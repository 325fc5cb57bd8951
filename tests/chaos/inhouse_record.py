"""What the in-house crowd has recorded of a campaign, in the form that the audit reads."""

from collections import defaultdict
from collections.abc import Mapping

from annotation.crowd.inhouse import models
from annotation.models import Campaign
from annotation.protocol.screening.control import check_controls
from tests.chaos.record import FIELD, Extension, Item, Record, TheirHit, Work, packed_items

SUBMITTED_OR_DECIDED = ("submitted", "approved", "rejected")


def read_inhouse_record(campaign: Campaign) -> Record:
    items = packed_items(campaign)
    prefix = f"{campaign.uid.hex[:16]}-"
    offers = models.PostedHit.objects.filter(annotation__startswith=prefix).select_related("queue")
    works = models.Assignment.objects.filter(
        posted_hit__annotation__startswith=prefix, status__in=SUBMITTED_OR_DECIDED
    ).select_related("posted_hit__queue", "member")
    in_order = works.order_by("submitted_at", "assignment_id")
    return Record(
        [_hit(offer) for offer in offers.order_by("pk")],
        [_work(work, number, items) for number, work in enumerate(in_order)],
        items,
    )


def _hit(offer: models.PostedHit) -> TheirHit:
    works: defaultdict[str, int] = defaultdict(int)
    for status in offer.assignments.values_list("status", flat=True):
        works[status] += 1
    free = offer.open_assignments if offer.is_open else 0
    cents = offer.queue.reward_cents
    return TheirHit(
        hit_id=offer.hit_id,
        key=offer.annotation,
        max_assignments=offer.max_assignments,
        closed=not offer.is_open,
        created_at=offer.created_at.timestamp(),
        held_cents=cents * (free + works["accepted"] + works["submitted"]),
        spent_cents=cents * works["approved"],
        extensions=tuple(
            Extension(one.created_at.timestamp(), one.new_assignments)
            for one in offer.extensions.order_by("pk")
        ),
    )


def _work(work: models.Assignment, number: int, items: Mapping[str, Mapping[str, Item]]) -> Work:
    assert work.submitted_at is not None
    mine = items[work.posted_hit.annotation]
    given = {key: work.answers.get(FIELD + key) for key in mine}
    answers = {key: int(value) for key, value in given.items() if value in ("0", "1")}
    expected = {key: item.expected for key, item in mine.items() if item.expected is not None}
    return Work(
        assignment_id=work.assignment_id,
        hit=work.posted_hit.annotation,
        worker=work.member.worker_id,
        status=work.status,
        number=number,
        submitted_at=work.submitted_at.timestamp(),
        fields=work.answers,
        answers=answers,
        failure=check_controls(expected, answers, list(mine)).failure,
        by_timeout=False,
        spent_cents=work.posted_hit.queue.reward_cents if work.status == "approved" else 0,
    )
