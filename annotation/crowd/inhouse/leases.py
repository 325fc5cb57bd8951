"""What time does by itself: leases lapse, HITs expire. Looked at whenever it matters."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from annotation.crowd.inhouse.models import Assignment, PostedHit
from annotation.protocol.policy.crowds import CROWDS

BATCH = 500
# For so long a visit can be finished, which submits what was done in it.
VISIT = timedelta(hours=24)
# Other panels tell themselves who has come back, and so who has not.
UNTOLD = [kind for kind, traits in CROWDS.items() if traits.by_link and not traits.by_study]


def sweep(now: datetime) -> int:
    """Carry out all that has fallen due; how many assignments are open again."""
    PostedHit.objects.filter(is_open=True, expires_at__lte=now).update(is_open=False)
    held = Assignment.objects.filter(
        status=Assignment.Status.HELD,
        submitted_at__lte=now - VISIT,
        posted_hit__queue__crowd__in=UNTOLD,
    ).order_by("pk")
    return lapse(Q(), now) + sum(end(one, Assignment.Status.LAPSED) for one in list(held))


def end(assignment: Assignment, status: Assignment.Status) -> int:
    """Take it out of the worker's hands, unless it has left them; 1 where it is open again."""
    with transaction.atomic():
        still = Assignment.objects.filter(pk=assignment.pk, status=assignment.status)
        ended = still.update(status=status, submitted_at=None)
        if ended:
            open_again(assignment.posted_hit_id)
    return ended


def give_back_all(assignments: QuerySet[Assignment]) -> None:
    """Those of them that are in somebody's hands."""
    for one in assignments.filter(status=Assignment.Status.ACCEPTED):
        end(one, Assignment.Status.RETURNED)


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
