"""A link's study at Prolific: made, enlarged, read, and its submissions decided.

Everything is compared with what is there, and done where it differs. A submission is a visit here:
its tasks are submitted, paid and rejected as one.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.urls import reverse

from annotation.crowd.inhouse import visits
from annotation.crowd.inhouse.leases import end
from annotation.crowd.inhouse.models import Assignment, Grant, Participant, PostedHit, Visit
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.groups import excluding
from annotation.crowd.prolific.api.studies import REVIEW, CompletionCode, NewStudy
from annotation.crowd.prolific.api.studies import Study as Theirs
from annotation.crowd.prolific.api.submissions import LEAST_MESSAGE, StudySubmission
from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.models import Study

log = logging.getLogger(__name__)

LEAVE = "https://app.prolific.com/submissions/complete?cc={code}"
LONGEST_MINUTES = 1_439  # a submission ends before a day is over
# Submissions that hold a place.
TAKING = frozenset(
    {"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "SCREENED OUT"}
)
ENDED = frozenset({"RETURNED", "TIMED-OUT"})
PAID = frozenset({"APPROVED", "PARTIALLY APPROVED"})
FULL = frozenset({"AWAITING REVIEW", "COMPLETED", "PAUSED"})
PADDING = (
    " Some questions in each task have a known answer, and the instructions say that tasks are"
    " rejected where these are answered wrong."
)


@dataclass(frozen=True)
class Tender:
    """Looks after one study."""

    client: ProlificClient
    workspace_id: str
    project_id: str | None
    study: Study
    now: datetime

    def tend(self) -> None:
        link = self.study.link
        if link.closed_at is not None and not self.study.study_id:
            return
        theirs = self._theirs()
        self._keep_away()
        read = list(self.client.submissions.of_study(self.study.study_id))
        self._read(read)
        self._decide()
        if link.closed_at is None:
            self._open(theirs, read)
        elif theirs.status in ("ACTIVE", "PAUSED"):
            self.client.studies.transition(theirs.study_id, "STOP")

    # The study itself

    def _theirs(self) -> Theirs:
        if self.study.study_id:
            return self.client.studies.get(self.study.study_id)
        theirs = self._made_before() or self.client.studies.create(self._new())
        self.study.study_id = theirs.study_id
        self.study.save(update_fields=["study_id"])
        return theirs

    def _made_before(self) -> Theirs | None:
        """One that was made while the answer got lost."""
        listed = self.client.studies.list(self.project_id)
        return next((one for one in listed if one.internal_name == self._name), None)

    @property
    def _name(self) -> str:
        return f"quorum-{self.study.link.key}"

    def _new(self) -> NewStudy:
        link, queue = self.study.link, self.study.link.queue
        minutes = self.study.minutes
        address = settings.PUBLIC_URL + reverse("panel", args=[link.key])
        parameters = "&".join(
            f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
        )
        return NewStudy(
            name=queue.title,
            description=queue.description,
            external_study_url=f"{address}?{parameters}",
            completion_codes=[CompletionCode(link.code, "COMPLETED", [REVIEW])],
            total_available_places=max(1, self._visits_wanted()),
            estimated_minutes=minutes,
            # Prolific takes no less than 2 + 2t + 2 * sqrt(t); nobody shall be hurried.
            maximum_minutes=min(LONGEST_MINUTES, max(30, 6 * minutes)),
            reward_cents=link.tasks * queue.reward_cents,
            internal_name=self._name,
            project_id=self.project_id,
            filters=[excluding([self._group()])],
        )

    def _open(self, theirs: Theirs, read: Sequence[StudySubmission]) -> None:
        """As many places as there are visits to make; they only grow."""
        if theirs.status == "UNPUBLISHED":
            self.client.studies.transition(theirs.study_id, "PUBLISH")
            return
        wanted = self._visits_wanted()
        taken = sum(one.status in TAKING for one in read)
        # A study that is full stays so, though a place was given back.
        full = theirs.status in FULL
        free = 0 if full else max(0, theirs.total_available_places - taken)
        if wanted > free:
            total = max(theirs.total_available_places, taken) + wanted - free
            theirs = self.client.studies.raise_places(theirs.study_id, total)
            if theirs.status == "PAUSED":
                self.client.studies.transition(theirs.study_id, "START")

    def _visits_wanted(self) -> int:
        """For the tasks that are open, less those that people here will still take."""
        link = self.study.link
        waiting = PostedHit.objects.filter(queue=link.queue, is_open=True, expires_at__gt=self.now)
        tasks = waiting.aggregate(tasks=Sum("open_assignments"))["tasks"] or 0
        here = link.visits.filter(finished_at=None, outcome="")
        done = sum(visits.done_of(one).handed_in for one in visits.with_done(here))
        in_hand = Assignment.objects.filter(
            posted_hit__queue=link.queue,
            member__in=here.values("member"),
            status=Assignment.Status.ACCEPTED,
        )
        coming = here.count() * link.tasks - done - in_hand.count()
        return ceil(max(0, tasks - coming) / link.tasks)

    # Who is kept away

    def _group(self) -> str:
        if not self.study.group_id:
            groups, name = self.client.groups, f"{self._name}: no further work"
            known = [one for one in groups.of_workspace(self.workspace_id) if one.name == name]
            group = known[0] if known else groups.create(self.workspace_id, name)
            self.study.group_id = group.group_id
            self.study.save(update_fields=["group_id"])
        return self.study.group_id

    def _keep_away(self) -> None:
        """Those who are excluded take no place that others could have."""
        exclusion = self.study.link.queue.exclusion_id
        if exclusion is None:
            return
        holders = Grant.objects.filter(qualification=exclusion).values("member")
        ids = Participant.objects.filter(member__in=holders).values_list("external_id", flat=True)
        group = self._group()
        wanted, kept = set(ids), set(self.client.groups.members(group))
        if wanted - kept:
            self.client.groups.add(group, sorted(wanted - kept))
        if kept - wanted:
            self.client.groups.remove(group, sorted(kept - wanted))

    # Submissions

    def _read(self, read: Sequence[StudySubmission]) -> None:
        mine = Visit.objects.filter(link=self.study.link).select_related("link", "member")
        people = dict(
            Participant.objects.filter(member__visits__link=self.study.link).values_list(
                "member", "external_id"
            )
        )
        by_session: Mapping[str, Visit] = {one.session_id: one for one in mine}
        strays = 0
        for theirs in read:
            visit = by_session.get(theirs.submission_id)
            if visit is not None and people.get(visit.member_id) != theirs.participant_id:
                visit = None  # somebody came by another one's link
            strays += not self._follow(theirs, visit)
        if strays != self.study.strays:
            Study.objects.filter(pk=self.study.pk).update(strays=strays)

    def _follow(self, theirs: StudySubmission, visit: Visit | None) -> bool:
        """Whether a finished visit explains it."""
        if theirs.status in ENDED:
            if visit is not None:
                self._void(visit)
        elif theirs.status in PAID or theirs.status == "REJECTED":
            if visit is not None:
                self._settle(visit, approved=theirs.status in PAID)
        elif theirs.status == "AWAITING REVIEW":
            return visit is not None and self._confirm(visit)
        return True

    @transaction.atomic
    def _confirm(self, visit: Visit) -> bool:
        if visit.outcome:
            return True
        if not visit.finished_at and not (
            visits.is_full(visit) and visits.finish(visit, now=self.now)
        ):
            return False
        visits.submit_all(visit, now=self.now)
        return self._move(visit, Visit.Outcome.CONFIRMED)

    @transaction.atomic
    def _void(self, visit: Visit) -> None:
        """Given back, or out of time, perhaps after it was submitted: it is not paid."""
        if visit.outcome == Visit.Outcome.RETURNED:
            return
        tasks = visits.tasks_of(visit)
        for one in tasks.filter(status__in=(Assignment.Status.ACCEPTED, Assignment.Status.HELD)):
            end(one, Assignment.Status.RETURNED)
        tasks.filter(status=Assignment.Status.SUBMITTED).update(
            status=Assignment.Status.REJECTED, feedback="The participant returned it at Prolific."
        )
        Visit.objects.filter(pk=visit.pk, finished_at=None).update(finished_at=self.now)
        self._move(visit, Visit.Outcome.RETURNED)

    @transaction.atomic
    def _settle(self, visit: Visit, *, approved: bool) -> None:
        """As it was decided there, by us, by hand, or after 21 days."""
        outcome = Visit.Outcome.APPROVED if approved else Visit.Outcome.REJECTED
        if visit.outcome == outcome:
            return
        status = Assignment.Status.APPROVED if approved else Assignment.Status.REJECTED
        undecided = (Assignment.Status.HELD, Assignment.Status.SUBMITTED)
        visits.tasks_of(visit).filter(status__in=undecided).update(status=status)
        Visit.objects.filter(pk=visit.pk, finished_at=None).update(finished_at=self.now)
        self._move(visit, outcome)

    def _move(self, visit: Visit, outcome: Visit.Outcome) -> bool:
        visit.outcome = outcome
        return bool(Visit.objects.filter(pk=visit.pk).update(outcome=outcome))

    def _decide(self) -> None:
        """Visits whose tasks are all decided here."""
        waiting = self.study.link.visits.filter(outcome=Visit.Outcome.CONFIRMED)
        for visit in visits.with_done(waiting.select_related("link", "member")):
            done = visits.done_of(visit)
            if done.undecided or not done.handed_in:
                continue
            try:
                self._decide_one(visit, approved=done.approved > 0)
            except CrowdError as error:
                if not error.permanent:
                    raise
                # One that Prolific refuses keeps nobody else waiting.
                log.warning("submission %s: %s", visit.session_id, error)

    def _decide_one(self, visit: Visit, *, approved: bool) -> None:
        if approved:
            theirs = self.client.submissions.approve(visit.session_id)
        else:
            theirs = self.client.submissions.reject(
                visit.session_id, category="FAILED_CHECK", message=_message(visit)
            )
        self._follow(theirs, visit)


def _message(visit: Visit) -> str:
    """What the participant reads: at least as long as Prolific wants it."""
    reasons = visits.tasks_of(visit).exclude(feedback="").values_list("feedback", flat=True)
    text = " ".join(dict.fromkeys(reasons)) or "The work did not pass its check questions."
    return text if len(text) >= LEAST_MESSAGE else text + PADDING


def refused_in_part(tasks: int) -> CrowdError:
    return CrowdError(
        f"Prolific pays or rejects a visit of {tasks} tasks as a whole, so one of them cannot be"
        " rejected: exclude the participant instead, or open a link of one task a visit.",
        permanent=True,
    )
