"""Check the controls of what was submitted, decide on it, and exclude who fails too often."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from annotation.crowd.worker_notices import reason_of, whom_to_write_to
from annotation.models import (
    Assignment,
    Campaign,
    Control,
    Exclusion,
    HitItem,
    Judgment,
    OutboxMessage,
)
from annotation.pipeline.changes import in_parts
from annotation.pipeline.collecting.behaviour import AnsweredAssignment, Submitted, record_behaviour
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.ledger.settlements import discard, settle
from annotation.pipeline.outbox.messages import token
from annotation.protocol.screening.behaviour import CANNOT_JUDGE
from annotation.protocol.screening.control import ControlCheck, check_controls
from annotation.protocol.screening.exclusion import Review, exclusions
from core.files.bulk_insert import insert, insert_alike

BATCH = 2000
FIELD = "item-"  # the form field of an item is this and the item's key


@dataclass(frozen=True)
class Reviewed:
    passed: int
    failed: int
    excluded: int


class Item(NamedTuple):
    """What the review needs of a HIT's item."""

    pk: int
    key: str
    triplet: int | None
    expected: int | None  # a control's right answer


class Vote(NamedTuple):
    """A judgment's columns."""

    assignment_id: int
    item_id: int
    triplet_id: int | None
    worker_id: int
    value: int


def review(campaign: Campaign, *, until: datetime | None = None) -> Reviewed:
    """Review every new assignment in order of submission, in one transaction.

    Those submitted after `until` wait: an earlier one may not be known yet, and the order decides
    who is excluded.
    """
    with transaction.atomic():
        campaign = locked(campaign)
        passed = failed = 0
        workers: set[int] = set()
        for batch in _to_review(campaign, until):
            fresh = _review_batch(campaign, batch)
            passed += fresh
            failed += len(batch) - fresh
            workers |= {assignment.worker_id for assignment in batch}
        excluded = exclude_careless(campaign, workers)
        settle(campaign)  # what the crowd had decided before
    return Reviewed(passed, failed, excluded)


def _to_review(campaign: Campaign, until: datetime | None) -> Iterator[list[Submitted]]:
    new = Assignment.objects.filter(hit__campaign=campaign, passed=None)
    if until is not None:
        new = new.filter(submitted_at__lte=until)
    in_order = "submitted_at", "crowd_id"
    # Found once: what is reviewed in this transaction stays in the index's way until its end.
    waiting = list(new.order_by(*in_order).values_list("pk", flat=True))
    for some in in_parts(waiting, BATCH):
        rows = Assignment.objects.filter(pk__in=some).order_by(*in_order)
        yield [Submitted(*row) for row in rows.values_list(*Submitted._fields)]


def _review_batch(campaign: Campaign, batch: list[Submitted]) -> int:
    items = _items({assignment.hit_id for assignment in batch})
    allowed = campaign.policy.cannot_judge_limit > 0
    messages: list[tuple[str, str, int, str]] = []
    votes: list[Vote] = []
    assignments: list[AnsweredAssignment] = []
    by_failure: defaultdict[str, list[int]] = defaultdict(list)
    for assignment in batch:
        mine = items[assignment.hit_id]
        keys = [item.key for item in mine]
        answers = given_answers(assignment.answers, keys)
        cannot = cannot_judge(assignment.answers, keys) if allowed else set()
        check = _check(mine, answers, cannot)
        by_failure[check.failure].append(assignment.pk)
        votes += _votes(assignment, mine, answers)
        messages += _decision(campaign, assignment, check)
        assignments.append(
            AnsweredAssignment(assignment, {item.key: item.pk for item in mine}, answers, cannot)
        )
    for failure, such in by_failure.items():
        Assignment.objects.filter(pk__in=such).update(passed=not failure, failure=failure)
    if campaign.hits.filter(repack=True).exists():
        votes = _first_only(votes)
    insert(Judgment, Vote._fields, votes)
    record_behaviour(assignments)
    example = OutboxMessage(campaign=campaign)
    insert_alike(example, ["kind", "token", "assignment_id", "reason"], messages)
    return len(by_failure[""])


def _first_only(votes: list[Vote]) -> list[Vote]:
    """Without a worker's second judgment on a triplet, which stands in several HITs.

    The crowd and our page let nobody take such a HIT; who got round both has had their vote.
    """
    triplets = {vote.triplet_id for vote in votes} - {None}
    before = Judgment.objects.filter(triplet__in=triplets)
    seen: set[tuple[int | None, int]] = set(before.values_list("triplet_id", "worker_id"))
    first = []
    for vote in votes:
        key = vote.triplet_id, vote.worker_id
        if vote.triplet_id is None or key not in seen:
            first.append(vote)
            seen.add(key)
    return first


def _items(hits: Iterable[int]) -> dict[int, list[Item]]:
    items: dict[int, list[Item]] = {hit: [] for hit in hits}
    rows = HitItem.objects.filter(hit__in=items)
    for hit, pk, key, triplet, kind in rows.values_list(
        "hit_id", "pk", "key", "triplet_id", "control__kind"
    ):
        expected = None if kind is None else int(kind == Control.Kind.POSITIVE)
        items[hit].append(Item(pk, key, triplet, expected))
    return items


def given_answers(fields: dict[str, str], keys: Iterable[str]) -> dict[str, int]:
    """Item key -> 0 or 1; anything else that a browser may have sent is no answer."""
    values = {key: fields.get(FIELD + key) for key in keys}
    return {key: int(value) for key, value in values.items() if value in ("0", "1")}


def cannot_judge(fields: dict[str, str], keys: Iterable[str]) -> set[str]:
    """Keys of the items that the worker can't judge."""
    return {key for key in keys if fields.get(FIELD + key) == CANNOT_JUDGE}


def _check(items: list[Item], answers: dict[str, int], cannot: set[str]) -> ControlCheck:
    expected = {item.key: item.expected for item in items if item.expected is not None}
    return check_controls(expected, answers, [item.key for item in items], cannot)


def _votes(assignment: Submitted, items: list[Item], answers: dict[str, int]) -> list[Vote]:
    return [
        Vote(assignment.pk, item.pk, item.triplet, assignment.worker_id, answers[item.key])
        for item in items
        if item.key in answers
    ]


def _decision(
    campaign: Campaign, assignment: Submitted, check: ControlCheck
) -> list[tuple[str, str, int, str]]:
    """The message to the crowd: kind, token, assignment, reason. None where it has decided."""
    if assignment.status != Assignment.Status.SUBMITTED:
        return []
    rejected = not check.passed and campaign.policy.on_failed_control == "reject"
    kind = OutboxMessage.Kind.REJECT if rejected else OutboxMessage.Kind.APPROVE
    reason = _rejection(campaign, check) if rejected else ""
    return [(kind, token(kind, assignment.crowd_id), assignment.pk, reason)]


def _rejection(campaign: Campaign, check: ControlCheck) -> str:
    why = check.explain()
    # Without an address of ours, the crowd's own site says whom to write to.
    return f"{why} {whom_to_write_to(campaign.policy.crowd_traits)}" if settings.CONTACT else why


def exclude_careless(campaign: Campaign, workers: Collection[int] | None = None) -> int:
    """Recompute the exclusions from all reviews of these workers, or of all; how many are new.

    They are never undone here, and a worker whom a person restored is not excluded again.
    """
    known = set(campaign.exclusions.values_list("worker_id", flat=True))
    done = _reviewed_workers(campaign, workers)
    reviews = [Review(str(worker), passed) for worker, passed in done]
    new = [
        Exclusion(
            campaign=campaign,
            worker_id=int(decision.worker),
            failures=decision.failures,
            reviewed=decision.reviewed,
        )
        for decision in exclusions(reviews, campaign.policy)
        if int(decision.worker) not in known
    ]
    Exclusion.objects.bulk_create(new)
    OutboxMessage.objects.bulk_create([_to_exclude(campaign, exclusion) for exclusion in new])
    discard(campaign, [exclusion.worker_id for exclusion in new])
    return len(new)


def _reviewed_workers(
    campaign: Campaign, workers: Collection[int] | None
) -> list[tuple[int, bool]]:
    done = Assignment.objects.filter(hit__campaign=campaign, passed__isnull=False)
    done = done if workers is None else done.filter(worker__in=workers)
    rows = done.order_by("submitted_at", "crowd_id").values_list("worker_id", "passed")
    return [(worker, bool(passed)) for worker, passed in rows]


def _to_exclude(campaign: Campaign, exclusion: Exclusion) -> OutboxMessage:
    return OutboxMessage(
        campaign=campaign,
        kind=OutboxMessage.Kind.EXCLUDE,
        token=token("exclude", campaign.uid.hex, exclusion.worker_id, exclusion.pk),
        worker_id=exclusion.worker_id,
        reason=reason_of(exclusion),
    )
