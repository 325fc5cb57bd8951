"""What Prolific says of a submission, carried out on the visit here: all its tasks as one."""

from datetime import datetime

from django.db import transaction

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.leases import end
from annotation.crowd.inhouse.models import Assignment, Visit
from annotation.crowd.prolific.api.submissions import StudySubmission

Outcome = Visit.Outcome
OUTCOMES = {
    "RETURNED": Outcome.RETURNED,
    "TIMED-OUT": Outcome.RETURNED,
    "APPROVED": Outcome.APPROVED,
    "PARTIALLY APPROVED": Outcome.APPROVED,
    "REJECTED": Outcome.REJECTED,
}
OVER = frozenset({*OUTCOMES, "SCREENED OUT"})
# That hold a place of the study.
TAKING = frozenset(
    {"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "SCREENED OUT"}
)


def follow(theirs: StudySubmission, visit: Visit, now: datetime) -> bool:
    """False where it was completed there, and no finished visit explains it."""
    outcome = OUTCOMES.get(theirs.status)
    if outcome == Outcome.RETURNED:
        void(visit, now)
    elif outcome is not None:
        _settle(visit, outcome, now)
    elif theirs.status == "AWAITING REVIEW":
        return _confirm(visit, now)
    return True


@transaction.atomic
def _confirm(visit: Visit, now: datetime) -> bool:
    if visit.outcome:
        return True
    if not visit.finished_at and not (visits.is_full(visit) and visits.finish(visit, now=now)):
        return False
    visits.submit_all(visit, now=now)
    move(visit, Outcome.CONFIRMED)
    return True


@transaction.atomic
def void(visit: Visit, now: datetime) -> None:
    """Given back, or out of time, perhaps after it was submitted: it is not paid."""
    if visit.outcome == Outcome.RETURNED:
        return
    status = Assignment.Status
    for one in visit.assignments.filter(status__in=(status.ACCEPTED, status.HELD)):
        end(one, status.RETURNED)
    visit.assignments.filter(status=status.SUBMITTED).update(
        status=status.REJECTED, feedback="The participant returned it at Prolific."
    )
    Visit.objects.filter(pk=visit.pk, finished_at=None).update(finished_at=now)
    move(visit, Outcome.RETURNED)


@transaction.atomic
def _settle(visit: Visit, outcome: Outcome, now: datetime) -> None:
    """As it was decided there, by us, by hand, or after 21 days."""
    if visit.outcome == outcome:
        return
    undecided = (Assignment.Status.HELD, Assignment.Status.SUBMITTED)
    of_visit = visit.assignments.filter(status__in=undecided)
    of_visit.update(status=Assignment.Status(outcome.value))
    Visit.objects.filter(pk=visit.pk, finished_at=None).update(finished_at=now)
    move(visit, outcome)


def move(visit: Visit, outcome: Outcome) -> None:
    visit.outcome = outcome
    Visit.objects.filter(pk=visit.pk).update(outcome=outcome)
