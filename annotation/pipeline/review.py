"""Check the controls of what was handed in, decide on it, and shut out who fails too often."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from annotation.models import Assignment, Campaign, Exclusion, HitItem, Intent, Judgment
from annotation.pipeline.ledger import discard, locked, settle
from annotation.pipeline.publish import token
from annotation.protocol.blacklist import Review, exclusions
from annotation.protocol.control import ControlCheck, check_controls

BATCH = 500
FIELD = "item-"  # the form field of an item is this and the item's key


@dataclass(frozen=True)
class Reviewed:
    passed: int
    failed: int
    excluded: int


def review(campaign: Campaign, *, until: datetime | None = None) -> Reviewed:
    """Review every new assignment in order of submission, in one transaction.

    Those handed in after `until` wait: an earlier one may not be known yet, and the order decides
    who is excluded.
    """
    with transaction.atomic():
        campaign = locked(campaign)
        passed = failed = 0
        while batch := _to_review(campaign, until):
            fresh = _review_batch(campaign, batch)
            passed += fresh
            failed += len(batch) - fresh
        excluded = _exclude(campaign) if passed or failed else 0
        settle(campaign)  # what the crowd had decided before
        if passed or failed:
            Campaign.objects.filter(pk=campaign.pk).update(labels_stale=True)
    return Reviewed(passed, failed, excluded)


def _to_review(campaign: Campaign, until: datetime | None) -> list[Assignment]:
    new = Assignment.objects.filter(hit__campaign=campaign, passed=None)
    if until is not None:
        new = new.filter(submitted_at__lte=until)
    return list(new.order_by("submitted_at", "crowd_id").select_related("worker")[:BATCH])


def _review_batch(campaign: Campaign, batch: list[Assignment]) -> int:
    items = _items({assignment.hit_id for assignment in batch})
    intents: list[Intent] = []
    judgments: list[Judgment] = []
    for assignment in batch:
        answers = given_answers(assignment.answers, items[assignment.hit_id])
        check = _check(items[assignment.hit_id], answers)
        assignment.passed = check.passed
        judgments += _judgments(assignment, items[assignment.hit_id], answers)
        intents += _decision(campaign, assignment, check)
    for passed in (True, False):
        mine = [assignment.pk for assignment in batch if assignment.passed is passed]
        Assignment.objects.filter(pk__in=mine).update(passed=passed)
    if campaign.hits.filter(repack=True).exists():
        judgments = _first_only(judgments)
    Judgment.objects.bulk_create(judgments)
    Intent.objects.bulk_create(intents)
    return sum(assignment.passed is True for assignment in batch)


def _first_only(judgments: list[Judgment]) -> list[Judgment]:
    """Without a worker's second judgment on a triplet, which stands in several HITs.

    The crowd and our page let nobody take such a HIT; who got round both has had their vote.
    """
    triplets = {judgment.triplet_id for judgment in judgments} - {None}
    before = Judgment.objects.filter(triplet__in=triplets)
    seen: set[tuple[int | None, int]] = set(before.values_list("triplet_id", "worker_id"))
    first = []
    for judgment in judgments:
        key = judgment.triplet_id, judgment.worker_id
        if judgment.triplet_id is None or key not in seen:
            first.append(judgment)
            seen.add(key)
    return first


def _items(hits: Iterable[int]) -> dict[int, list[HitItem]]:
    found: dict[int, list[HitItem]] = {hit: [] for hit in hits}
    for item in HitItem.objects.filter(hit__in=found).select_related("control"):
        found[item.hit_id].append(item)
    return found


def given_answers(fields: dict[str, str], items: list[HitItem]) -> dict[str, int]:
    """Item key -> 0 or 1; anything else that a browser may have sent is no answer."""
    values = {item.key: fields.get(FIELD + item.key) for item in items}
    return {key: int(value) for key, value in values.items() if value in ("0", "1")}


def _check(items: list[HitItem], answers: dict[str, int]) -> ControlCheck:
    expected = {item.key: item.control.expected for item in items if item.control is not None}
    return check_controls(expected, answers, [item.key for item in items])


def _judgments(
    assignment: Assignment, items: list[HitItem], answers: dict[str, int]
) -> list[Judgment]:
    return [
        Judgment(
            assignment=assignment,
            item=item,
            triplet_id=item.triplet_id,
            worker=assignment.worker,
            value=answers[item.key],
        )
        for item in items
        if item.key in answers
    ]


def _decision(campaign: Campaign, assignment: Assignment, check: ControlCheck) -> list[Intent]:
    """What the crowd is to be told; nothing where it decided by itself."""
    if assignment.status != Assignment.Status.SUBMITTED:
        return []
    rejected = not check.passed and campaign.policy.on_failed_control == "reject"
    kind = Intent.Kind.REJECT if rejected else Intent.Kind.APPROVE
    return [
        Intent(
            campaign=campaign,
            kind=kind,
            token=token(kind, assignment.crowd_id),
            assignment=assignment,
            reason=_rejection(check) if rejected else "",
        )
    ]


def _rejection(check: ControlCheck) -> str:
    if check.unanswered:
        return f"Questions left without an answer: {len(check.unanswered)}."
    return (
        "Each HIT holds check questions whose answer is plain from the instructions. "
        f"Wrong answers to them in this one: {len(check.missed)}."
    )


def _exclude(campaign: Campaign) -> int:
    """Recompute the exclusions from all reviews; how many are new.

    They are never undone here, and whoever was taken back by hand is not shut out again.
    """
    names = _reviewed_workers(campaign)
    known = set(campaign.exclusions.values_list("worker_id", flat=True))
    reviews = [Review(str(worker), passed) for worker, passed in names]
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
    Intent.objects.bulk_create([_shut_out(campaign, exclusion) for exclusion in new])
    discard(campaign)
    return len(new)


def _reviewed_workers(campaign: Campaign) -> list[tuple[int, bool]]:
    done = Assignment.objects.filter(hit__campaign=campaign, passed__isnull=False)
    rows = done.order_by("submitted_at", "crowd_id").values_list("worker_id", "passed")
    return [(worker, bool(passed)) for worker, passed in rows]


def _shut_out(campaign: Campaign, exclusion: Exclusion) -> Intent:
    return Intent(
        campaign=campaign,
        kind=Intent.Kind.EXCLUDE,
        token=token("exclude", campaign.uid.hex, exclusion.worker_id, exclusion.pk),
        worker_id=exclusion.worker_id,
        reason=(
            f"{exclusion.failures} of {exclusion.reviewed} HITs failed their check questions, "
            f"more than the {campaign.policy.max_failure_rate * 100:g}% this campaign allows."
        ),
    )
