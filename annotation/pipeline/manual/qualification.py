"""A worker's tries at the qualification test, and the qualification of who passes it."""

import re
from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet

from annotation.crowd.port import Crowd
from annotation.models import (
    Campaign,
    Exclusion,
    OutboxMessage,
    QualificationItem,
    QualificationResult,
    Worker,
)
from annotation.pipeline.outbox.messages import cancel_messages, token
from annotation.protocol.screening.qualification import (
    TRIES,
    least_right,
    percent_right,
    positions_of_try,
)
from core.errors import UserError

# At Amazon each is a call out of the ten a second that publishing and review share.
MOST_WAITING = 1_000
WORKER_ID = re.compile(r"[A-Z0-9]{2,64}")


class OtherItems(UserError):
    """The answers are to the items of another try, as of a page that stayed open."""


def check_open(campaign: Campaign) -> None:
    """UserError: one sentence for the worker why nobody can take the test now."""
    if campaign.state == Campaign.State.CANCELLED:
        raise UserError("This qualification test is over: its campaign has ended.")
    if not campaign.qualified_id:
        raise UserError(
            "This qualification test opens when its campaign is published: please come back then."
        )


def tries_of(campaign: Campaign, worker_id: str) -> QuerySet[QualificationResult]:
    """The first one first."""
    return campaign.qualification_results.filter(
        worker__crowd=campaign.policy.crowd, worker__worker_id=worker_id
    ).order_by("pk")


def exclusion_of(campaign: Campaign, worker_id: str) -> Exclusion | None:
    return campaign.exclusions.filter(
        worker__crowd=campaign.policy.crowd, worker__worker_id=worker_id, restored_at=None
    ).first()


def items_of_try(campaign: Campaign, tries_before: int) -> list[QualificationItem]:
    """In their order."""
    items = list(campaign.qualification_items.order_by("position"))
    count = min(campaign.policy.qualification_items, len(items))
    return [items[at] for at in positions_of_try(tries_before, len(items), count)] if items else []


@transaction.atomic
def take_test(
    campaign: Campaign, worker_id: str, answers: Mapping[int, int]
) -> QualificationResult | None:
    """One more try; None where none is left. `answers`: position -> 0 or 1, for its every item.

    OtherItems where the answers are to another try's; UserError while too many who have passed wait
    to be let in: nothing is counted then.

    The same answers once more are the same try: who clicks twice loses none. Who has passed needs
    no other try.
    """
    worker = _locked(campaign, worker_id)
    given = {str(position): value for position, value in answers.items()}
    before = list(tries_of(campaign, worker_id))
    if before and before[-1].passed:
        return before[-1]
    for earlier in before:
        if earlier.answers == given:
            return earlier
    if len(before) >= TRIES:
        return None
    items = {one.position: one.expected for one in items_of_try(campaign, len(before))}
    if answers.keys() != items.keys():
        raise OtherItems("These are not the items of this try: open the test again.")
    correct = sum(answers[position] == expected for position, expected in items.items())
    result = QualificationResult.objects.create(
        campaign=campaign,
        worker=worker,
        answers=given,
        correct=correct,
        items=len(items),
        passed=correct >= least_right(len(items), campaign.policy.qualification_pass_percent),
    )
    if result.passed:
        _check_waiting(campaign)
        _train(campaign, worker)
    return result


@transaction.atomic
def grant_qualification(campaign: Campaign, worker_id: str) -> None:
    """Let a worker in by hand, whatever their tries came to: kept as a try without items."""
    if not campaign.policy.qualification_items:
        raise UserError(
            f"Campaign {campaign} has no qualification test: nobody needs to be let in."
        )
    check_open(campaign)
    if not WORKER_ID.fullmatch(worker_id):
        raise UserError(f"{worker_id!r} is not a worker id: use capital letters and digits only.")
    if exclusion_of(campaign, worker_id):
        raise UserError(
            f"Worker {worker_id} is excluded from {campaign}: "
            f"`quorum campaign restore {campaign} {worker_id}` restores them."
        )
    worker = _locked(campaign, worker_id)
    if tries_of(campaign, worker_id).filter(passed=True).exists():
        raise UserError(f"Worker {worker_id} has passed already.")
    QualificationResult.objects.create(
        campaign=campaign, worker=worker, answers={}, correct=0, items=0, passed=True
    )
    _train(campaign, worker)


def _locked(campaign: Campaign, worker_id: str) -> Worker:
    """The worker's tries come one after the other, in whatever number of tabs."""
    worker, _ = Worker.objects.get_or_create(crowd=campaign.policy.crowd, worker_id=worker_id)
    return Worker.objects.select_for_update().get(pk=worker.pk)


def _check_waiting(campaign: Campaign) -> None:
    unsent = (OutboxMessage.State.PENDING, OutboxMessage.State.CLAIMED)
    waiting = campaign.outbox.filter(kind=OutboxMessage.Kind.TRAIN, state__in=unsent)
    if waiting.count() >= MOST_WAITING:
        raise UserError(
            "Too many workers are being let in at once: please come back in a few minutes and send"
            " your answers again. Nothing was counted."
        )


def _train(campaign: Campaign, worker: Worker) -> None:
    message, _ = OutboxMessage.objects.get_or_create(
        token=token("train", campaign.uid.hex, worker.pk),
        defaults={"campaign": campaign, "kind": OutboxMessage.Kind.TRAIN, "worker": worker},
    )
    # Once refused, for the id was mistyped then, and somebody has it now.
    again = OutboxMessage.objects.filter(pk=message.pk, state=OutboxMessage.State.CANCELLED)
    again.update(state=OutboxMessage.State.PENDING, error="", retry_at=None, first_sent_at=None)


@transaction.atomic
def withdraw_refused(campaign: Campaign, worker_id: str) -> str | None:
    """Undo an admission that the crowd has refused, as of an id that it does not know: why."""
    refused = campaign.outbox.filter(
        kind=OutboxMessage.Kind.TRAIN, worker__worker_id=worker_id, state=OutboxMessage.State.FAILED
    )
    reasons = list(refused.values_list("error", flat=True))
    if not cancel_messages(refused):
        return None
    tries_of(campaign, worker_id).filter(items=0).delete()
    return reasons[0]


def grant_at_once(result: QualificationResult, crowd: Crowd) -> None:
    """Where the crowd's record is ours nobody waits for the next pass, which repeats this."""
    crowd.grant(
        result.worker.worker_id,
        qualification_id=result.campaign.qualified_id,
        value=percent_right(result.correct, result.items),
    )
