"""Check the controls of what was handed in, decide on it, and shut out who fails too often."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from annotation.models import Assignment, Campaign, Exclusion, HitItem, Intent, Judgment
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


def review(campaign: Campaign) -> Reviewed:
    """Review every new assignment in order of submission, in one transaction."""
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
        passed = failed = 0
        while batch := _to_review(campaign):
            fresh = _review_batch(campaign, batch)
            passed += fresh
            failed += len(batch) - fresh
        excluded = _exclude(campaign) if passed or failed else 0
    return Reviewed(passed, failed, excluded)


def _to_review(campaign: Campaign) -> list[Assignment]:
    new = Assignment.objects.filter(hit__campaign=campaign, passed=None)
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
    Assignment.objects.bulk_update(batch, ["passed"])
    Judgment.objects.bulk_create(judgments)
    Intent.objects.bulk_create(intents)
    return sum(assignment.passed is True for assignment in batch)


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
            assignment=assignment, item=item, worker=assignment.worker, value=answers[item.key]
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
    """Recompute the exclusions from all reviews; how many are new. They are never undone here."""
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
    return len(new)


def _reviewed_workers(campaign: Campaign) -> list[tuple[int, bool]]:
    done = Assignment.objects.filter(hit__campaign=campaign, passed__isnull=False)
    rows = done.order_by("submitted_at", "crowd_id").values_list("worker_id", "passed")
    return [(worker, bool(passed)) for worker, passed in rows]


def _shut_out(campaign: Campaign, exclusion: Exclusion) -> Intent:
    return Intent(
        campaign=campaign,
        kind=Intent.Kind.EXCLUDE,
        token=token("exclude", campaign.uid.hex, exclusion.worker_id),
        worker_id=exclusion.worker_id,
        reason=(
            f"{exclusion.failures} of {exclusion.reviewed} HITs failed their check questions, "
            f"more than the {campaign.policy.max_failure_rate * 100:g}% this campaign allows."
        ),
    )
