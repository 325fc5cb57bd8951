"""A link's study at Prolific: made, enlarged, paused, ended, and its submissions read.

All that may still change is compared with what is there, and done where it differs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.urls import reverse

from annotation.crowd.inhouse.models import (
    HANDED_IN,
    Assignment,
    Grant,
    PanelLink,
    Participant,
    PostedHit,
    Visit,
)
from annotation.crowd.inhouse.visits import close_link
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.groups import excluding
from annotation.crowd.prolific.api.studies import REVIEW, CompletionCode, NewStudy
from annotation.crowd.prolific.api.studies import Study as Theirs
from annotation.crowd.prolific.api.submissions import StudySubmission
from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.errors import Passing
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.submissions import OVER, TAKING, follow, void

LEAVE = "https://app.prolific.com/submissions/complete?cc={code}"
LONGEST_MINUTES = 1_439  # a submission ends before a day is over
# A visit of which Prolific knows nothing by then was made up, to keep its tasks from others.
UNKNOWN_FOR = timedelta(minutes=10)
MAKING = timedelta(minutes=5)  # a study takes seconds to make: then whoever began has died
OPEN = ("ACTIVE", "PUBLISHING")
UNDECIDED = ("", Visit.Outcome.CONFIRMED)
BEGUN = Q(assignments__status__in=(*HANDED_IN, Assignment.Status.ACCEPTED))


@dataclass(frozen=True)
class Tender:
    """Looks after one study."""

    client: ProlificClient
    workspace: Callable[[], str]  # its id
    project_id: str | None
    study: Study
    now: datetime

    def tend(self) -> None:
        link = self.study.link
        missing = self._missing()
        if not self.study.study_id and (link.closed_at or not missing):
            self._keep(coming=0, at_rest=True)
            return
        undecided = link.visits.filter(outcome__in=UNDECIDED)
        if self.study.at_rest and not undecided.exists() and (link.closed_at or not missing):
            return
        theirs = self._theirs(missing)
        was_open = theirs.status in OPEN
        self._keep_away()
        read = list(self.client.submissions.of_study(self.study.study_id))
        fault = self._read(read)
        people = self._people_coming(read)
        missing = self._missing()
        if link.closed_at is not None:
            if theirs.status in ("ACTIVE", "PAUSED"):
                theirs = self.client.studies.transition(theirs.study_id, "STOP")
            places = 0
        else:
            theirs, places = self._open(theirs, read, ceil(max(0, missing - people) / link.tasks))
        waits = any(one.status not in OVER for one in read) or undecided.exists()
        # Just before this pass shut it, somebody may have taken a place.
        at_rest = not (was_open or theirs.status in OPEN or waits)
        self._keep(coming=people + places * link.tasks, at_rest=at_rest)
        if fault is not None:
            raise fault

    def _keep(self, **figures: object) -> None:
        """What was read, for the next time and for the other links."""
        changed = {name: it for name, it in figures.items() if getattr(self.study, name) != it}
        if changed:
            Study.objects.filter(pk=self.study.pk).update(**changed)
        for name, it in changed.items():
            setattr(self.study, name, it)

    # The study itself

    def _theirs(self, missing: int) -> Theirs:
        if self.study.study_id:
            return self.client.studies.get(self.study.study_id)
        mine = Study.objects.filter(
            Q(making_since=None) | Q(making_since__lt=self.now - MAKING), pk=self.study.pk
        )
        if not mine.filter(study_id="").update(making_since=self.now):
            raise CrowdError("Another process makes the study now.", permanent=False)
        try:
            theirs = self._made_before() or self.client.studies.create(self._new(missing))
        except CrowdError:
            Study.objects.filter(pk=self.study.pk).update(making_since=None)
            raise
        self._keep(study_id=theirs.study_id)
        return theirs

    def _made_before(self) -> Theirs | None:
        """One that was made while the answer got lost."""
        listed = self.client.studies.list(self.project_id)
        return next((one for one in listed if one.internal_name == self._name), None)

    @property
    def _name(self) -> str:
        return f"quorum-{self.study.link.key}"

    def _new(self, missing: int) -> NewStudy:
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
            total_available_places=ceil(missing / link.tasks),
            estimated_minutes=minutes,
            # Prolific takes no less than 2 + 2t + 2 * sqrt(t); nobody shall be hurried.
            maximum_minutes=min(LONGEST_MINUTES, max(30, 6 * minutes)),
            reward_cents=link.tasks * queue.reward_cents,
            internal_name=self._name,
            project_id=self.project_id,
            filters=[excluding([self._group()])],
        )

    def _open(
        self, theirs: Theirs, read: Sequence[StudySubmission], wanted: int
    ) -> tuple[Theirs, int]:
        """With as many free places as are wanted, and how many are; places only grow."""
        taken = sum(one.status in TAKING for one in read)
        free = max(0, theirs.total_available_places - taken)
        if theirs.status == "UNPUBLISHED" and wanted:
            self._keep(full_at=len(read) + free)
            return self.client.studies.transition(theirs.study_id, "PUBLISH"), free
        if theirs.status == "ACTIVE":
            if free and not wanted:
                # Before it is done: whoever finds it paused shall know by whom.
                self._keep(paused=True)
                return self.client.studies.transition(theirs.study_id, "PAUSE"), 0
            if wanted > free:
                theirs = self.client.studies.raise_places(theirs.study_id, taken + wanted)
                free = wanted
            self._keep(paused=False, full_at=len(read) + free)
            return theirs, free
        is_ours = self.study.paused and theirs.status == "PAUSED"
        if not wanted or (len(read) < self.study.full_at and not is_ours):
            return theirs, 0
        if theirs.status == "PAUSED":
            self._keep(paused=True)
            if wanted > free:
                theirs = self.client.studies.raise_places(theirs.study_id, taken + wanted)
            return self.client.studies.transition(theirs.study_id, "START"), max(wanted, free)
        if theirs.status in ("AWAITING REVIEW", "COMPLETED"):
            # One that is full stays so, though a place was given back, until it grows.
            return self._reopened(
                theirs, max(theirs.total_available_places + 1, taken + wanted), taken
            )
        return theirs, free

    def _reopened(self, theirs: Theirs, total: int, taken: int) -> tuple[Theirs, int]:
        try:
            return self.client.studies.raise_places(theirs.study_id, total), total - taken
        except Passing:
            raise
        except CrowdError as error:
            raise CrowdError(
                f"{error} The study is full: if Prolific does not let it grow, close its link and"
                " open another one.",
                permanent=error.permanent,
            ) from error

    def _missing(self) -> int:
        """Tasks that are open, less those that the campaign's other links bring."""
        link = self.study.link
        waiting = PostedHit.objects.filter(queue=link.queue, is_open=True, expires_at__gt=self.now)
        tasks = waiting.aggregate(tasks=Sum("open_assignments"))["tasks"] or 0
        others = Study.objects.filter(link__queue=link.queue_id).exclude(pk=self.study.pk)
        return max(0, tasks - (others.aggregate(tasks=Sum("coming"))["tasks"] or 0))

    def _people_coming(self, read: Sequence[StudySubmission]) -> int:
        """Tasks that those who have a place will still take."""
        tasks = self.study.link.tasks
        there = [one.submission_id for one in read if one.status not in (*OVER, "AWAITING REVIEW")]
        here = self.study.link.visits.filter(session_id__in=there)
        begun = here.annotate(begun=Count("pk", filter=BEGUN)).values_list("finished_at", "begun")
        return len(there) * tasks - sum(
            tasks if finished else min(tasks, count) for finished, count in begun
        )

    # Who is kept away

    def _group(self) -> str:
        if not self.study.group_id:
            groups, name = self.client.groups, f"{self._name}: no further work"
            known = [one for one in groups.of_workspace(self.workspace()) if one.name == name]
            group = known[0] if known else groups.create(self.workspace(), name)
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

    def _read(self, read: Sequence[StudySubmission]) -> CrowdError | None:
        """What went wrong with a visit: it keeps no other waiting."""
        people = Participant.objects.filter(member__visits__link=self.study.link)
        ids = dict(people.values_list("member", "external_id"))
        of_link = self.study.link.visits
        visits = {
            one.session_id: one
            for one in of_link.filter(outcome__in=UNDECIDED).select_related("link")
        }
        decided = set(of_link.exclude(outcome__in=UNDECIDED).values_list("session_id", flat=True))
        strays, known = 0, set()
        for theirs in read:
            visit = visits.get(theirs.submission_id)
            # Else somebody came by another one's link.
            if visit is not None and ids.get(visit.member_id) == theirs.participant_id:
                known.add(visit.pk)
                strays += not follow(theirs, visit, self.now)
            elif theirs.submission_id not in decided:
                strays += theirs.status == "AWAITING REVIEW"
        self._keep(strays=strays)
        fault = None
        for visit in visits.values():
            if visit.pk not in known and visit.arrived_at <= self.now - UNKNOWN_FOR:
                try:
                    self._ask_about(visit, ids.get(visit.member_id))
                except CrowdError as error:
                    fault = fault or error
        return fault

    def _ask_about(self, visit: Visit, person: str | None) -> None:
        """A list that is read while others move can lack one; else the visit was made up."""
        if visit.outcome:
            return
        try:
            theirs = self.client.submissions.get(visit.session_id)
        except CrowdError as error:
            if not error.permanent:
                raise
        else:
            if (theirs.participant_id, theirs.study_id) == (person, self.study.study_id):
                return
        void(visit, self.now)
        # Whose session it is may still come by it.
        Visit.objects.filter(pk=visit.pk).update(session_id=f"unknown {visit.pk}")


def shut(link: PanelLink, *, now: datetime) -> None:
    """Nobody new can come by it; the next pass stops its study, where it has one."""
    close_link(link, now=now)
    Study.objects.filter(link=link).update(at_rest=False, coming=0)


def refused_in_part(tasks: int) -> CrowdError:
    return CrowdError(
        f"Prolific pays or rejects a visit of {tasks} tasks as a whole, so one of them cannot be"
        " rejected: exclude the participant instead, or open a link of one task a visit.",
        permanent=True,
    )
