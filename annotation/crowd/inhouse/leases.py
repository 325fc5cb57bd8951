"""What time does by itself: leases lapse, HITs expire. Looked at whenever it matters."""

from datetime import datetime

from django.db import transaction
from django.db.models import F, Q

from annotation.crowd.inhouse.models import Assignment, PostedHit

BATCH = 500


def sweep(now: datetime) -> int:
    """Carry out all that has fallen due; how many assignments are open again."""
    PostedHit.objects.filter(is_open=True, expires_at__lte=now).update(is_open=False)
    return lapse(Q(), now)


def lapse(where: Q, now: datetime) -> int:
    """Give back the assignments whose time ran out; how many."""
    due = Assignment.objects.filter(where, status=Assignment.Status.ACCEPTED, deadline__lte=now)
    lapsed = 0
    while batch := list(due.order_by("pk").values_list("pk", "posted_hit_id")[:BATCH]):
        for assignment, hit in batch:
            lapsed += _lapse(assignment, hit, now)
    return lapsed


@transaction.atomic
def _lapse(assignment: int, hit: int, now: datetime) -> int:
    # Somebody may have submitted it, prolonged it or swept it up since it was listed.
    due = Assignment.objects.filter(
        pk=assignment, status=Assignment.Status.ACCEPTED, deadline__lte=now
    )
    if not due.update(status=Assignment.Status.LAPSED):
        return 0
    open_again(hit)
    return 1


def open_again(hit: int) -> None:
    PostedHit.objects.filter(pk=hit).update(open_assignments=F("open_assignments") + 1)
