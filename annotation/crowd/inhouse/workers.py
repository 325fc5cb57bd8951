"""What the requester does with members: qualifications, blocks, bonuses and messages."""

from collections.abc import Callable
from datetime import datetime

from django.utils import timezone

from annotation.crowd.inhouse.errors import missing, refused, translated
from annotation.crowd.inhouse.models import (
    SUBMITTED_OR_DECIDED,
    Assignment,
    Block,
    Bonus,
    Grant,
    Member,
    Notice,
    Qualification,
)


class InhouseWorkers:
    def __init__(self, clock: Callable[[], datetime] = timezone.now) -> None:
        self._clock = clock

    def create_qualification(self, name: str, description: str) -> str:
        with translated():
            made, _ = Qualification.objects.get_or_create(
                name=name, defaults={"description": description}
            )
            return made.qualification_id

    def grant(self, worker_id: str, *, qualification_id: str, value: int) -> None:
        with translated():
            Grant.objects.update_or_create(
                qualification=qualification(qualification_id),
                member=_member(worker_id),
                defaults={"value": value},
            )

    def exclude(self, worker_id: str, *, exclusion_id: str) -> None:
        self.grant(worker_id, qualification_id=exclusion_id, value=1)

    def restore(self, worker_id: str, *, exclusion_id: str) -> None:
        with translated():
            held = Grant.objects.filter(qualification=qualification(exclusion_id))
            held.filter(member=_member(worker_id)).delete()

    def block(self, worker_id: str, *, reason: str) -> None:
        with translated():
            Block.objects.update_or_create(member=_member(worker_id), defaults={"reason": reason})

    def unblock(self, worker_id: str, *, reason: str) -> None:
        with translated():
            Block.objects.filter(member=_member(worker_id)).delete()

    def bonus(
        self, worker_id: str, assignment_id: str, *, cents: int, reason: str, token: str
    ) -> None:
        with translated():
            done = Assignment.objects.filter(
                assignment_id=assignment_id, status__in=SUBMITTED_OR_DECIDED
            )
            assignment = done.select_related("member").first()
            if assignment is None:
                raise missing("submitted assignment", assignment_id)
            if assignment.member.worker_id != worker_id:
                raise refused(f"Assignment {assignment_id} is not the work of {worker_id}.")
            given = {
                "assignment": assignment,
                "cents": cents,
                "reason": reason,
                "given_at": self._clock(),
            }
            Bonus.objects.get_or_create(token=token, defaults=given)

    def bonus_paid(self, assignment_id: str, *, cents: int, reason: str) -> bool:
        with translated():
            paid = Bonus.objects.filter(assignment__assignment_id=assignment_id)
            return paid.filter(cents=cents, reason=reason).exists()

    def notify(self, worker_id: str, *, subject: str, text: str, token: str) -> None:
        """On the member's work page."""
        with translated():
            notice = {
                "member": _member(worker_id),
                "subject": subject,
                "text": text,
                "sent_at": self._clock(),
            }
            Notice.objects.get_or_create(token=token, defaults=notice)


def qualification(qualification_id: str) -> Qualification:
    row = Qualification.objects.filter(qualification_id=qualification_id).first()
    if row is None:
        raise missing("qualification", qualification_id)
    return row


def _member(worker_id: str) -> Member:
    member = Member.objects.filter(worker_id=worker_id).first()
    if member is None:
        raise missing("member", worker_id)
    return member
