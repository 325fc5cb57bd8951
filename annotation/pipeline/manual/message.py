"""Write to a worker: a message, so that the same words are sent once."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, Campaign, OutboxMessage, Worker
from annotation.pipeline.ledger.reservations import locked
from annotation.pipeline.manual.exclusion import worker_in
from annotation.pipeline.outbox.messages import token
from core.errors import UserError

WRITTEN = (OutboxMessage.Kind.NOTIFY, OutboxMessage.Kind.BONUS, OutboxMessage.Kind.OVERTURN)


@dataclass(frozen=True)
class Message:
    worker: str
    text: str
    new: bool  # these words have not been sent to this worker before


def preview_message(campaign: Campaign, worker_id: str, *, text: str) -> Message:
    """Raises UserError where the crowd would carry no message."""
    text, crowd = text.strip(), campaign.policy.crowd_traits
    if not 1 <= len(text) <= crowd.longest_message:
        most = f"{crowd.longest_message:,}"
        raise UserError(f"A message has 1 to {most} characters, not {len(text):,}.")
    if not campaign.endpoint:
        raise UserError(f"Campaign {campaign} is not published: nobody works on it yet.")
    worker = worker_in(campaign, worker_id)
    decided = Assignment.objects.filter(worker=worker).exclude(status=Assignment.Status.SUBMITTED)
    if crowd.writes_after_decision and not decided.exists():
        raise UserError(
            f"Messages at {crowd.title} reach only workers whose work was approved or rejected: "
            f"wait until an assignment of {worker} is."
        )
    asked = campaign.outbox.filter(token=_token(campaign, worker.pk, text))
    new = not asked.exclude(state=OutboxMessage.State.CANCELLED).exists()
    return Message(worker.worker_id, text, new)


@transaction.atomic
def write_to(campaign: Campaign, worker_id: str, *, text: str) -> Message:
    """The same words are sent once, however often this is called."""
    campaign = locked(campaign)
    message = preview_message(campaign, worker_id, text=text)
    if message.new:
        worker = worker_in(campaign, worker_id)
        OutboxMessage.objects.update_or_create(
            token=_token(campaign, worker.pk, message.text),
            defaults={
                "state": OutboxMessage.State.PENDING,
                "error": "",
                "retry_at": None,
                "first_sent_at": None,
            },
            create_defaults={
                "campaign": campaign,
                "kind": OutboxMessage.Kind.NOTIFY,
                "worker": worker,
                "reason": message.text,
            },
        )
    return message


def letters_of(campaign: Campaign, worker: Worker) -> QuerySet[OutboxMessage]:
    """Messages, bonuses and overturned rejections."""
    return campaign.outbox.filter(worker=worker, kind__in=WRITTEN).select_related("assignment")


def _token(campaign: Campaign, worker: int, text: str) -> str:
    return token("notify", campaign.uid.hex, worker, text)
