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
from annotation.pipeline.ledger.accounts import OverBudget, locked
from annotation.pipeline.ledger.postings import pay_overturned, settle
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
        lacks = theirs.completed < least.decided or theirs.handed_in < least.stored
        knows_more = theirs.completed > ours.decided + ours.deciding
        if full or lacks or knows_more:
            yield theirs


def _states(hits: Sequence[int]) -> dict[str, str]:
    works = Assignment.objects.filter(hit__in=hits)
    return dict(works.values_list("crowd_id", "status"))


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
            works = {work.crowd_id: work for work in hit.assignments.select_related("hit")}
            missing = []
            for theirs in self._reading.submissions:
                work = works.get(theirs.assignment_id)
                if work is None:
                    missing.append(theirs)
                elif work.status != theirs.status:
                    self._mend(work, Status(theirs.status))
            if missing:
                self._store(hit, missing, stored=len(works))
            settle(self._campaign)

    def _mend(self, work: Assignment, status: Status) -> None:
        """By (ours, theirs). What is decided stays so at the crowd, save a rejection."""
        if work.status == Status.SUBMITTED:
            self._record(work, status)
        elif status == Status.SUBMITTED:
            self._decide_again(work)
        elif work.status == Status.REJECTED:
            self._overturn(work)
        else:
            self._report.leave(
                f"Assignment {work} of HIT {work.hit} is approved and paid here, and rejected at "
                "the crowd: ask the crowd how that can be.",
                hit=work.hit.key,
            )

    def _record(self, work: Assignment, status: Status) -> None:
        calls = work.outbox.filter(kind__in=DECISIONS)
        claimed = Q(state=OutboxMessage.State.CLAIMED)
        if calls.filter(claimed | Q(state__in=UNSENT, first_sent_at__isnull=False)).exists():
            return  # our own call: deliver learns what came of it
        self._set_status(work, status)
        waiting = calls.exclude(state__in=[OutboxMessage.State.DONE, OutboxMessage.State.CANCELLED])
        waiting.update(state=OutboxMessage.State.DONE, error="", retry_at=None)
        self._report.did(
            Repair.DECIDED,
            f"Assignment {work} of HIT {work.hit} is {status} at the crowd, by time-out or by "
            "hand: recorded.",
            hit=work.hit.key,
        )

    def _decide_again(self, work: Assignment) -> None:
        """The crowd does not have what we took for done, and did not have it before either."""
        calls = work.outbox.filter(kind__in=DECISIONS).order_by("pk")
        if (
            self._reading.known.get(work.crowd_id) != work.status
            or calls.filter(state__in=UNSENT).exists()
        ):
            return
        kind = (
            OutboxMessage.Kind.APPROVE
            if work.status == Status.APPROVED
            else OutboxMessage.Kind.REJECT
        )
        last = calls.filter(kind=kind).last()
        OutboxMessage.objects.create(
            campaign=self._campaign,
            kind=kind,
            token=token(kind, work.crowd_id, calls.count()),
            assignment=work,
            reason=last.reason if last else REFUSED if kind == OutboxMessage.Kind.REJECT else "",
        )
        self._report.did(
            Repair.SENT_AGAIN,
            f"Assignment {work} of HIT {work.hit} is {work.status} here and undecided at the "
            "crowd: to be decided there again.",
            hit=work.hit.key,
        )

    def _overturn(self, work: Assignment) -> None:
        if work.outbox.filter(kind=OutboxMessage.Kind.OVERTURN, state__in=UNSENT).exists():
            return  # our own call: deliver learns what came of it
        try:
            if (
                work.account != Assignment.Booked.RESERVED
            ):  # else the review books what is true then
                pay_overturned(self._campaign, work)
        except OverBudget:
            self._report.leave(
                f"The rejection of assignment {work} of HIT {work.hit} was overturned by hand, "
                f"and the budget of {self._campaign} does not cover it: raise it.",
                hit=work.hit.key,
            )
            return
        self._set_status(work, Status.APPROVED)
        self._report.did(
            Repair.OVERTURNED,
            f"The rejection of assignment {work} of HIT {work.hit} was overturned by hand: paid.",
            hit=work.hit.key,
        )

    def _set_status(self, work: Assignment, status: Status) -> None:
        if work.passed and Status.REJECTED in (work.status, status):
            # Refused work has no say.
            self._campaign.labels_stale = True
            self._campaign.save(update_fields=["labels_stale"])
        work.status = status
        work.save(update_fields=["status"])

    def _store(self, hit: Hit, missing: Sequence[Submission], *, stored: int) -> None:
        """What collect does not see: it reads HITs that are not closed and hold more than ours."""
        if hit.closed_at is None and self._reading.theirs.handed_in > stored:
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
