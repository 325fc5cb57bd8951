"""Which controls somebody knows the answer of: members read why their work was rejected."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.crowd.accounts import KINDS, workers_of
from annotation.crowd.inhouse.models import Member
from annotation.models import Assignment, Control, ItemReport, Judgment, OutboxMessage
from annotation.protocol.screening.control import RejectionReason
from core.files.prepared import TEXT, Prepared

_WRONG = Q(item__control__kind=Control.Kind.POSITIVE, value=0) | Q(
    item__control__kind=Control.Kind.NEGATIVE, value=1
)
_UNJUDGED = Q(item__control__isnull=False, cannot_judge=True)


def reveals(which: Q | None = None) -> tuple[QuerySet[Judgment], QuerySet[ItemReport]]:
    """Wrong answers to controls, and controls that could not be judged, of rejected work.

    Its worker was told the right answers. They know them still where the rejection was overturned.
    """
    which = which or Q()
    return (
        _of_rejected_work(Judgment.objects.filter(_WRONG, which)),
        _of_rejected_work(ItemReport.objects.filter(_UNJUDGED, which)),
    )


def reveal_values(*columns: str, which: Q | None = None) -> set[tuple[Any, ...]]:
    """These columns of both."""
    wrong, unjudged = reveals(which)
    return {*wrong.values_list(*columns), *unjudged.values_list(*columns)}


_MISSED = Prepared(
    lambda name: Assignment.objects.filter(
        worker__in=workers_of(name), failure=RejectionReason.MISSED.key
    ).values_list("pk"),
    TEXT,
)


def controls_revealed_to(member: Member) -> set[int]:
    """Primary keys of those whose right answer the member was told."""
    if not (failed := [pk for (pk,) in _MISSED.rows(member.worker_id)]):  # as of nearly everybody
        return set()
    return {
        control for (control,) in reveal_values("item__control", which=Q(assignment__in=failed))
    }


def _of_rejected_work(rows: QuerySet[Any]) -> QuerySet[Any]:
    rejections = OutboxMessage.objects.filter(
        assignment=OuterRef("assignment"),
        kind=OutboxMessage.Kind.REJECT,
        state=OutboxMessage.State.DONE,
    )
    rejected = Q(assignment__status=Assignment.Status.REJECTED) | Exists(rejections)
    return rows.filter(
        rejected,
        assignment__worker__crowd__in=KINDS,
        assignment__failure=RejectionReason.MISSED.key,
    )
