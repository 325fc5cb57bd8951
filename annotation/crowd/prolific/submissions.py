"""What Prolific says of a submission, carried out on the visit here: all its tasks as one."""

from datetime import datetime

from django.db import transaction

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.leases import end
from annotation.crowd.inhouse.models import HANDED_IN, Assignment, Visit
from annotation.crowd.prolific.api.submissions import StudySubmission
from annotation.crowd.prolific.models import Study

Outcome = Visit.Outcome
OUTCOMES = {
    "RETURNED": Outcome.RETURNED,
    "TIMED-OUT": Outcome.RETURNED,
    "APPROVED": Outcome.APPROVED,
    "PARTIALLY APPROVED": Outcome.APPROVED,
    "REJECTED": Outcome.REJECTED,
    "SCREENED OUT": Outcome.SCREENED,
}
OVER = frozenset(OUTCOMES)
# That hold a place of the study.
TAKING = frozenset({"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED"})
# For its tasks nobody is paid, whatever was done.
UNPAID = {
    Outcome.RETURNED: "The participant returned it at Prolific.",
    Outcome.SCREENED: "The participant was screened out at Prolific.",
}


def follow(theirs: StudySubmission, visit: Visit, now: datetime) -> None:
    outcome = OUTCOMES.get(theirs.status)
    if outcome in UNPAID:
        void(visit, now, outcome)
    elif outcome is not None:
        _settle(visit, outcome, now)
    elif theirs.status == "AWAITING REVIEW":
        _confirm(visit, now)


@transaction.atomic
def _confirm(visit: Visit, now: datetime) -> None:
    if visit.outcome:
        return
    if not visit.finished_at and not (visits.is_full(visit) and visits.finish(visit, now=now)):
        return
    if not visits.done_in(visit).handed_in:  # screened out when no slot was left
        return
    visits.submit_all(visit, now=now)
    move(visit, Outcome.CONFIRMED)


@transaction.atomic
def void(visit: Visit, now: datetime, outcome: Outcome = Outcome.RETURNED) -> None:
    """Given back, out of time, or screened out, perhaps after it was submitted."""
    if visit.outcome == outcome:
        return
    status = Assignment.Status
    for one in visit.assignments.filter(status__in=(status.ACCEPTED, status.HELD)):
        end(one, status.RETURNED)
    visit.assignments.filter(status=status.SUBMITTED).update(
        status=status.REJECTED, feedback=UNPAID[outcome]
    )
    Visit.objects.filter(pk=visit.pk, finished_at=None).update(finished_at=now)
    move(visit, outcome)


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
    surplus = _surplus_cents(visit)
    Visit.objects.filter(pk=visit.pk).update(outcome=outcome, surplus_cents=surplus)
    Study.objects.filter(link=visit.link_id).update(at_rest=False, billed=None)


def _surplus_cents(visit: Visit) -> int:
    """What Prolific pays beyond the tasks that were done: a visit is paid as a whole."""
    if visit.outcome == Outcome.SCREENED:
        return visit.link.study.screen_out_cents
    if visit.outcome == Outcome.APPROVED:
        lacking = visit.link.tasks - visits.done_in(visit).handed_in
        return max(0, lacking) * visit.link.queue.reward_cents
    return 0


@transaction.atomic
def screen_out(visit: Visit, now: datetime) -> bool:
    """End it with the code of those for whom there is no task; False where it is not for them."""
    code = visit.link.study.screen_out_code
    still = Visit.objects.filter(pk=visit.pk, finished_at=None)
    if not code or still.select_for_update().first() is None:
        return False
    status = (*HANDED_IN, Assignment.Status.ACCEPTED)
    if visit.assignments.filter(status__in=status).exists():
        return False
    return bool(still.update(finished_at=now, code=code))
