"""A link's study at Prolific: made, enlarged, paused, ended, and its submissions read.

All that may still change is compared with what is there, and done where it differs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from statistics import median

from django.conf import settings
from django.db.models import Count, Q, QuerySet, Sum
from django.urls import reverse

from annotation.crowd.inhouse.models import (
    HANDED_IN,
    Assignment,
    Grant,
    PanelLink,
    Participant,
    PostedHit,
    Queue,
    Visit,
)
from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.groups import admitting, excluding
from annotation.crowd.prolific.api.studies import (
    REVIEW,
    CompletionCode,
    NewStudy,
    screen_out,
)
from annotation.crowd.prolific.api.studies import Study as Theirs
from annotation.crowd.prolific.api.submissions import StudySubmission
from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.errors import Passing
from annotation.crowd.prolific.models import Study
from annotation.crowd.prolific.submissions import OUTCOMES, OVER, TAKING, Outcome, follow, void
from annotation.crowd.prolific.tokens import NAMES
from annotation.protocol.policy.crowds import PROLIFIC

LEAVE = "https://app.prolific.com/submissions/complete?cc={code}"
LONGEST_MINUTES = 1_439  # a submission ends before a day is over
# A visit of which Prolific knows nothing by then was made up, to keep its tasks from others.
UNKNOWN_FOR = timedelta(minutes=10)
MEASURED = 5  # visits from which on their time is told
PARTLY = "PARTIALLY APPROVED"
LEAST_PART = 8  # percent of its reward that a visit is paid then
COMPLETED = ("AWAITING REVIEW", "APPROVED", PARTLY)
AS_KEPT = Decimal("0.0001")  # cents
MAKING = timedelta(minutes=5)  # a study takes seconds to make: then whoever began has died
OUT = "SCREENED OUT"
OPEN = ("ACTIVE", "PUBLISHING")
UNDECIDED = ("", Outcome.CONFIRMED)
BEGUN = Q(assignments__status__in=(*HANDED_IN, Assignment.Status.ACCEPTED))


@dataclass(frozen=True)
class Tender:
    """Looks after one study."""

    client: ProlificClient
    workspace: Callable[[], str]  # its id
    project_id: str | None
    study: Study
    now: datetime
    may_grow: bool

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
        if not self.study.workspace_id:
            self._keep(workspace_id=self.workspace())
        was_open = theirs.status in OPEN
        self._keep_groups()
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
        in_part, billed = sum(one.status == PARTLY for one in read), None
        if not (was_open or theirs.status in OPEN or waits):
            try:
                billed = self._billed(in_part)
            except CrowdError as error:
                fault = fault or error
        # Of what was paid in part nobody knows how much is still to come on the bill.
        stays = billed is not None and (billed == self.study.billed or not in_part)
        self._keep(coming=people + places * link.tasks, at_rest=stays, billed=billed)
        if fault is not None:
            raise fault

    def _keep(self, **figures: object) -> None:
        """What was read, for the next time and for the other links."""
        changed = {name: it for name, it in figures.items() if getattr(self.study, name) != it}
        if changed:
            Study.objects.filter(pk=self.study.pk).update(**changed)
        for name, it in changed.items():
            setattr(self.study, name, it)

    def _billed(self, in_part: int) -> Decimal | None:
        """None while something that was paid is not on the bill."""
        rewards, bonuses = self.client.studies.cost(self.study.study_id)
        unpaid = in_part * self.study.visit_cents * (100 - LEAST_PART) // 100
        paid = self.study.paid_cents - unpaid
        if rewards.rewards < paid or bonuses.rewards < self.study.bonus_cents:
            return None
        return (rewards.total + bonuses.total).quantize(AS_KEPT)

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
        self._keep(study_id=theirs.study_id, is_secure=theirs.is_secure)
        return theirs

    def _made_before(self) -> Theirs | None:
        """One that was made while the answer got lost."""
        for one in self.client.studies.list(self.project_id):
            if one.internal_name == self._name:
                return self.client.studies.get(one.study_id)
        return None

    @property
    def _name(self) -> str:
        return f"quorum-{self.study.link.key}"

    def _new(self, missing: int) -> NewStudy:
        link, queue = self.study.link, self.study.link.queue
        minutes, places = self.study.minutes, ceil(missing / link.tasks)
        address = settings.PUBLIC_URL + reverse("panel", args=[link.key])
        parameters = "&".join(f"{name}={{{{%{name}%}}}}" for name in NAMES)
        return NewStudy(
            name=queue.title,
            description=queue.description,
            external_study_url=f"{address}?{parameters}",
            completion_codes=self._codes(places),
            total_available_places=places,
            estimated_minutes=minutes,
            # Prolific takes no less than 2 + 2t + 2 * sqrt(t); nobody shall be hurried.
            maximum_minutes=min(LONGEST_MINUTES, max(30, 6 * minutes)),
            reward_cents=link.tasks * queue.reward_cents,
            internal_name=self._name,
            project_id=self.project_id,
            filters=[excluding([self._kept_away()]), *self._admitted()],
            is_secure=settings.PROLIFIC_SECURE_LINKS,
        )

    def _codes(self, slots: int) -> list[CompletionCode]:
        done = CompletionCode(self.study.link.code, "COMPLETED", [REVIEW])
        cents = self.study.screen_out_cents
        if not cents:
            return [done]
        out = screen_out(cents=cents, slots=slots)
        return [done, CompletionCode(self.study.screen_out_code, "FIXED_SCREENOUT", [out])]

    def _open(
        self, theirs: Theirs, read: Sequence[StudySubmission], wanted: int
    ) -> tuple[Theirs, int]:
        """With as many free places as are wanted, and how many are; places only grow."""
        taken = sum(one.status in TAKING for one in read)
        screened = sum(one.status == OUT for one in read)
        explained = self.study.link.visits.filter(outcome=Outcome.SCREENED).count()
        free = max(0, theirs.total_available_places - taken)
        if theirs.status == "UNPUBLISHED" and wanted:
            self._keep(full_at=len(read) + free)
            return self.client.studies.transition(theirs.study_id, "PUBLISH"), free
        if theirs.status == "ACTIVE":
            if free and not wanted:
                # Before it is done: whoever finds it paused shall know by whom.
                self._keep(paused=True)
                return self.client.studies.transition(theirs.study_id, "PAUSE"), 0
            theirs = self._enlarged(theirs, taken + wanted, explained)
            free = max(free, wanted)
            self._keep(paused=False, held=False, full_at=len(read) + free)
            return theirs, free
        if theirs.status == "PUBLISHING":
            return theirs, free
        is_out = 0 < theirs.slots <= screened  # for which Prolific pauses it
        slots = max(theirs.total_available_places, taken + wanted) + explained
        if theirs.status == "PAUSED" and is_out and slots <= screened:
            return theirs, 0  # a code passed on buys no slot
        is_full = len(read) >= self.study.full_at
        if theirs.status == "PAUSED" and not (self.study.paused or is_out or (is_full and free)):
            self._keep(held=True)  # for a full one is paused by Prolific once a place is given back
        is_ours = theirs.status == "PAUSED" and (self.study.paused or is_out)
        if not wanted or self.study.held or not (is_full or is_ours):
            return theirs, 0
        if theirs.status == "PAUSED":
            self._keep(paused=True)
            theirs = self._enlarged(theirs, taken + wanted, explained)
            theirs = self.client.studies.transition(theirs.study_id, "START")
            self._keep(paused=False)  # from now on a pause is somebody else's
            return theirs, max(wanted, free)
        if theirs.status in ("AWAITING REVIEW", "COMPLETED"):
            # One that is full stays so, though a place was given back, until it grows.
            total = max(theirs.total_available_places + 1, taken + wanted)
            return self._reopened(theirs, total, explained), total - taken
        return theirs, free

    def _enlarged(self, theirs: Theirs, total: int, explained: int) -> Theirs:
        """With so many places, and a slot for everybody who may still find no task."""
        total = max(theirs.total_available_places, total)
        slots = max(theirs.slots, total + explained) if self.study.screen_out_cents else 0
        if (total, slots) == (theirs.total_available_places, theirs.slots):
            return theirs
        codes = self._codes(slots) if slots > theirs.slots else ()
        return self.client.studies.enlarge(theirs.study_id, total, codes)

    def _reopened(self, theirs: Theirs, total: int, explained: int) -> Theirs:
        try:
            return self._enlarged(theirs, total, explained)
        except Passing:
            raise
        except CrowdError as error:
            raise CrowdError(
                f"{error} The study is full: if Prolific does not let it grow, close its link and"
                " open another one.",
                permanent=error.permanent,
            ) from error

    def _missing(self) -> int:
        """Tasks that are open, less those that the campaign's other links bring.

        None while nobody new may come.
        """
        if not self.may_grow:
            return 0
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

    # Who may come

    def _kept_away(self) -> str:
        return self._group("group_id", "no further work")

    def _admitted(self) -> list[Mapping[str, object]]:
        """The filter of a study that is for known participants only."""
        return [admitting([self._known()])] if self.study.known_from else []

    def _known(self) -> str:
        return self._group("known_group_id", "known participants")

    def _group(self, field: str, purpose: str) -> str:
        if not getattr(self.study, field):
            groups, name = self.client.groups, f"{self._name}: {purpose}"
            known = [one for one in groups.of_workspace(self.workspace()) if one.name == name]
            group = known[0] if known else groups.create(self.workspace(), name)
            self._keep(**{field: group.group_id})
        return str(getattr(self.study, field))

    def _keep_groups(self) -> None:
        """Who is excluded takes no place that others could have, nor does who is not known."""
        if exclusion := self.study.link.queue.exclusion_id:
            holders = Grant.objects.filter(qualification=exclusion).values("member")
            self._gather(self._kept_away(), Participant.objects.filter(member__in=holders))
        if self.study.known_from:
            self._gather(self._known(), known_in(self.study.known_from))

    def _gather(self, group: str, people: QuerySet[Participant]) -> None:
        """So that these are its members, and nobody else is."""
        wanted = set(people.values_list("external_id", flat=True))
        kept = set(self.client.groups.members(group))
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
        known, paid = set(), self.study.paid_unseen
        for theirs in read:
            visit = visits.get(theirs.submission_id)
            # Else somebody came by another one's link.
            if visit is not None and ids.get(visit.member_id) == theirs.participant_id:
                known.add(visit.pk)
                if theirs.submission_id in paid:  # before they came
                    void(visit, self.now)
                else:
                    follow(theirs, visit, self.now)
        outcomes = dict(of_link.values_list("session_id", "outcome"))
        strays = [
            one
            for one in read
            if one.status == "AWAITING REVIEW"
            and outcomes.get(one.submission_id, "") in ("", Outcome.RETURNED)
        ]
        left = of_link.filter(outcome="", code=self.study.screen_out_code)
        promised = set(left.values_list("session_id", flat=True))
        to_ask = [one for one in strays if one.submission_id not in promised]
        passed_on = _unseen(read, outcomes, Outcome.SCREENED, self.study.passed_on)
        self._keep(
            strays=len(strays) + len(passed_on),
            promised=len(strays) - len(to_ask),
            passed_on=passed_on,
            approved_unseen=_unseen(read, outcomes, Outcome.APPROVED, self.study.approved_unseen),
        )
        PanelLink.objects.filter(pk=self.study.link_id).update(median_seconds=_median_seconds(read))
        fault = self._ask_back(to_ask)
        for visit in visits.values():
            if visit.pk not in known and visit.arrived_at <= self.now - UNKNOWN_FOR:
                try:
                    self._ask_about(visit, ids.get(visit.member_id))
                except CrowdError as error:
                    fault = fault or error
        return fault

    def _ask_back(self, strays: Sequence[StudySubmission]) -> CrowdError | None:
        """Who was asked is marked there, so that a lost answer asks nobody twice."""
        asked, fault = sum(one.return_requested for one in strays), None
        if reason := self.study.return_reason:
            is_over = True
            for one in strays:
                if one.return_requested:
                    continue
                try:
                    self.client.submissions.request_return(one.submission_id, reason)
                    asked += 1
                except CrowdError as error:
                    is_over &= error.permanent
                    fault = CrowdError(str(error), permanent=False)  # the study goes on
            if is_over:
                self._keep(return_reason="")
        self._keep(asked_back=asked)
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


def known_in(queue: Queue) -> QuerySet[Participant]:
    """Whose work for it was approved, and who is not excluded from it."""
    done = Assignment.objects.filter(
        posted_hit__queue=queue, status=Assignment.Status.APPROVED
    ).values("member")
    excluded = Grant.objects.filter(qualification=queue.exclusion_id).values("member")
    people = Participant.objects.filter(panel=PROLIFIC.kind, member__in=done)
    return people.exclude(member__in=excluded)


def _unseen(
    read: Sequence[StudySubmission],
    outcomes: Mapping[str, str],
    outcome: Outcome,
    known: Sequence[str],
) -> list[str]:
    """Paid so there, though no visit here explains it; those known stay.

    By their number, for visits that are forgotten here explain submissions too. To overturn a
    rejection books what it pays.
    """
    paid = [
        one.submission_id
        for one in read
        if OUTCOMES.get(one.status) == outcome
        and outcomes.get(one.submission_id) != Outcome.REJECTED
    ]
    explained = {session for session, its in outcomes.items() if its == outcome} | set(known)
    new = [one for one in paid if one not in explained]
    return [*known, *new[: max(0, len(paid) - len(explained))]]


def _median_seconds(read: Sequence[StudySubmission]) -> int | None:
    """As Prolific judges what a study pays."""
    times = [
        (one.completed_at - one.started_at).total_seconds()
        for one in read
        if one.status in COMPLETED and one.completed_at and one.started_at
    ]
    return round(median(times)) if len(times) >= MEASURED else None


def refused_in_part(tasks: int) -> CrowdError:
    return CrowdError(
        f"Prolific pays or rejects a visit of {tasks} tasks as a whole, so one of them cannot be"
        " rejected: exclude the participant instead, or open a link of one task a visit.",
        permanent=True,
    )
