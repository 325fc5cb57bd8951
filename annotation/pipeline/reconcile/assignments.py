"""Assignments that the crowd has in another state than we, or that only one side has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from django.db import transaction
from django.db.models import Q

from annotation.crowd.port import Crowd, CrowdError, CrowdHit, Submission
from annotation.models import Assignment, Campaign, Hit, OutboxMessage
from annotation.pipeline.collecting.collect import HitSubmissions, store
from annotation.pipeline.ledger.reservations import OverBudget, locked
from annotation.pipeline.ledger.settlements import pay_overturned, settle
from annotation.pipeline.outbox.claims import DECISIONS, UNSENT
from annotation.pipeline.outbox.messages import token
from annotation.pipeline.outbox.threads import calling
from annotation.pipeline.reconcile.money import set_reserved
from annotation.pipeline.reconcile.report import Reconciled, Repair
from annotation.pipeline.reconcile.snapshot import Ours, Sides
from core.progress import Progress

Status = Assignment.Status
# Only for work that we never refused ourselves, but that the crowd had as refused before.
REFUSED = "The work was not accepted when it was reviewed."


@dataclass(frozen=True)
class Reading:
    """A HIT's record at the crowd, and the states here before it was asked for."""

    theirs: CrowdHit
    submissions: Sequence[Submission]
    known: Mapping[str, str]  # assignment -> status


def compare_assignments(
    sides: Sides, after: Mapping[str, Ours], report: Reconciled, *, full: bool, progress: Progress
) -> None:
    """HITs whose counts cannot be right, or all; raises the CrowdError that may pass."""
    chosen = _to_read(sides, after, full=full)
    with calling(sides.crowd) as caller:
        while batch := list(islice(chosen, caller.batch)):
            # No call to the crowd is made inside a transaction.
            known = _states([after[theirs.annotation].pk for theirs in batch])
            for reading in caller.each(partial(_read, crowd=sides.crowd, known=known), batch):
                _compare(sides.campaign, reading, report)
            progress(len(batch))


def _to_read(sides: Sides, after: Mapping[str, Ours], *, full: bool) -> Iterator[CrowdHit]:
    for theirs in sides.listing.hits:
        ours, earlier = after.get(theirs.annotation), sides.before.get(theirs.annotation)
        if ours is None or ours.crowd_id != theirs.hit_id:
            continue
        least = earlier or ours
        lacks = theirs.completed < least.decided or theirs.submitted < least.stored
        knows_more = theirs.completed > ours.decided + ours.deciding
        if full or lacks or knows_more:
            yield theirs


def _states(hits: Sequence[int]) -> dict[str, str]:
    assignments = Assignment.objects.filter(hit__in=hits)
    return dict(assignments.values_list("crowd_id", "status"))


def _read(
    theirs: CrowdHit, *, crowd: Crowd, known: Mapping[str, str]
) -> Reading | tuple[CrowdHit, CrowdError]:
    try:
        return Reading(theirs, list(crowd.submissions(theirs.hit_id)), known)
    except CrowdError as error:
        return theirs, error


def _compare(
    campaign: Campaign, reading: Reading | tuple[CrowdHit, CrowdError], report: Reconciled
) -> None:
    if not isinstance(reading, Reading):
        theirs, error = reading
        if not error.permanent:
            raise error
        key = theirs.annotation
        report.leave(f"The record of HIT {key} cannot be read: {error}", hit=key)
        return
    report.read += 1
    if any(reading.known.get(each.assignment_id) != each.status for each in reading.submissions):
        _Repairs(campaign, reading, report).run()
    _name_vanished(reading, report)


def _name_vanished(reading: Reading, report: Reconciled) -> None:
    listed = {each.assignment_id for each in reading.submissions}
    ours = Assignment.objects.filter(hit__crowd_id=reading.theirs.hit_id)
    ours = ours.filter(crowd_id__in=reading.known)
    for crowd_id in ours.values_list("crowd_id", flat=True):
        if crowd_id not in listed:
            report.leave(
                f"Assignment {crowd_id} is not in the crowd's record of HIT "
                f"{reading.theirs.annotation} any more; its votes still count here.",
                hit=reading.theirs.annotation,
            )


class _Repairs:
    """Of one HIT's assignments, in one transaction."""

    def __init__(self, campaign: Campaign, reading: Reading, report: Reconciled) -> None:
        self._campaign = campaign
        self._reading = reading
        self._report = report

    def run(self) -> None:
        with transaction.atomic():
            self._campaign = locked(self._campaign)
            hit = self._campaign.hits.get(crowd_id=self._reading.theirs.hit_id)
            assignments = {
                assignment.crowd_id: assignment
                for assignment in hit.assignments.select_related("hit")
            }
            missing = []
            for theirs in self._reading.submissions:
                assignment = assignments.get(theirs.assignment_id)
                if assignment is None:
                    missing.append(theirs)
                elif assignment.status != theirs.status:
                    self._mend(assignment, Status(theirs.status))
            if missing:
                self._store(hit, missing, stored=len(assignments))
            settle(self._campaign)

    def _mend(self, assignment: Assignment, status: Status) -> None:
        """By (ours, theirs). What is decided stays so at the crowd, save a rejection."""
        if assignment.status == Status.SUBMITTED:
            self._record(assignment, status)
        elif status == Status.SUBMITTED:
            self._decide_again(assignment)
        elif assignment.status == Status.REJECTED:
            self._overturn(assignment)
        else:
            self._report.leave(
                f"Assignment {assignment} of HIT {assignment.hit} is approved and paid here, and "
                "rejected at the crowd: ask the crowd how that can be.",
                hit=assignment.hit.key,
            )

    def _record(self, assignment: Assignment, status: Status) -> None:
        calls = assignment.outbox.filter(kind__in=DECISIONS)
        claimed = Q(state=OutboxMessage.State.CLAIMED)
        if calls.filter(claimed | Q(state__in=UNSENT, first_sent_at__isnull=False)).exists():
            return  # our own call: deliver learns what came of it
        self._set_status(assignment, status)
        waiting = calls.exclude(state__in=[OutboxMessage.State.DONE, OutboxMessage.State.CANCELLED])
        waiting.update(state=OutboxMessage.State.DONE, error="", retry_at=None)
        self._report.did(
            Repair.DECIDED,
            f"Assignment {assignment} of HIT {assignment.hit} is {status} at the crowd, by "
            "time-out or manually: recorded.",
            hit=assignment.hit.key,
        )

    def _decide_again(self, assignment: Assignment) -> None:
        """The crowd does not have what we took for done, and did not have it before either."""
        calls = assignment.outbox.filter(kind__in=DECISIONS).order_by("pk")
        if (
            self._reading.known.get(assignment.crowd_id) != assignment.status
            or calls.filter(state__in=UNSENT).exists()
        ):
            return
        kind = (
            OutboxMessage.Kind.APPROVE
            if assignment.status == Status.APPROVED
            else OutboxMessage.Kind.REJECT
        )
        last = calls.filter(kind=kind).last()
        refused = kind == OutboxMessage.Kind.REJECT
        OutboxMessage.objects.create(
            campaign=self._campaign,
            kind=kind,
            token=token(kind, assignment.crowd_id, calls.count()),
            assignment=assignment,
            reason=last.reason if last else REFUSED if refused else "",
        )
        self._report.did(
            Repair.SENT_AGAIN,
            f"Assignment {assignment} of HIT {assignment.hit} is {assignment.status} here and "
            "undecided at the crowd: to be decided there again.",
            hit=assignment.hit.key,
        )

    def _overturn(self, assignment: Assignment) -> None:
        if assignment.outbox.filter(kind=OutboxMessage.Kind.OVERTURN, state__in=UNSENT).exists():
            return  # our own call: deliver learns what came of it
        try:
            # Where it is reserved, the review books what is true then.
            if assignment.account != Assignment.Booked.RESERVED:
                pay_overturned(self._campaign, assignment)
        except OverBudget:
            self._report.leave(
                f"The rejection of assignment {assignment} of HIT {assignment.hit} was overturned "
                f"manually, and the budget of {self._campaign} does not cover it: raise it.",
                hit=assignment.hit.key,
            )
            return
        self._set_status(assignment, Status.APPROVED)
        self._report.did(
            Repair.OVERTURNED,
            f"The rejection of assignment {assignment} of HIT {assignment.hit} was overturned "
            "manually: paid.",
            hit=assignment.hit.key,
        )

    def _set_status(self, assignment: Assignment, status: Status) -> None:
        assignment.status = status
        assignment.save(update_fields=["status"])

    def _store(self, hit: Hit, missing: Sequence[Submission], *, stored: int) -> None:
        """What collect does not see: it reads HITs that are not closed and hold more than ours."""
        if hit.closed_at is None and self._reading.theirs.submitted > stored:
            return
        new = store(self._campaign, [HitSubmissions(hit.pk, missing)])
        ids = ", ".join(theirs.assignment_id for theirs in missing)
        sentence = f"Assignments of HIT {hit} were missing here: {ids}: stored."
        self._report.did(Repair.STORED, sentence, hit=hit.key, count=new)
        try:
            set_reserved(self._campaign, hit)
        except OverBudget:
            sentence = f"The budget of {self._campaign} does not cover {ids}: raise it."
            self._report.leave(sentence, hit=hit.key)
