"""Which controls somebody knows the answer of: members read why their work was rejected."""

from django.db.models import Q, QuerySet

from annotation.crowd.accounts import KINDS
from annotation.models import Assignment, Control, Judgment
from annotation.protocol.screening.control import RejectionReason

_WRONG = Q(item__control__kind=Control.Kind.POSITIVE, value=0) | Q(
    item__control__kind=Control.Kind.NEGATIVE, value=1
)


def reveals() -> QuerySet[Judgment]:
    """Wrong answers to controls for which a member's work was rejected: the right ones are told."""
    return Judgment.objects.filter(
        _WRONG,
        worker__crowd__in=KINDS,
        assignment__status=Assignment.Status.REJECTED,
        assignment__failure=RejectionReason.MISSED.key,
    )
