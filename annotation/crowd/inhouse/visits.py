"""People whom a panel sends: they come by a link, do the tasks of a visit, and leave with a code.

Each is a member like those of the team, by an account without a password: whoever comes by the
panel's link with the same id goes on as the same person.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet

from annotation.crowd.inhouse.leases import give_back_all
from annotation.crowd.inhouse.members import deactivate, is_member
from annotation.crowd.inhouse.models import (
    HANDED_IN,
    Assignment,
    HitType,
    Member,
    PanelLink,
    Participant,
    Queue,
    Visit,
)
from annotation.crowd.inhouse.models.panels import new_code
from annotation.protocol.policy.panels import OTHER, PANELS
from core.errors import UserError

MOST_TASKS = 100
LONGEST_ID, LONGEST_SESSION = 128, 64
LONGEST_URL = 500
NO_FURTHER_PART = "You can take no further part. Return the study on the panel's own page."
# In place of a person's id, where the panel has not filled in its link.
_UNFILLED = re.compile("[{}%<>\\[\\]$\ufffd]")
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_CODE = re.compile(r"[A-Za-z0-9_-]{4,64}")


@dataclass(frozen=True)
class Done:
    """Of a visit's tasks."""

    handed_in: int
    approved: int
    rejected: int

    @property
    def undecided(self) -> int:
        return self.handed_in - self.approved - self.rejected


def open_link(
    hit_type_id: str,
    panel: str,
    *,
    tasks: int,
    parameter: str = "",
    code: str = "",
    return_url: str = "",
    note: str = "",
    now: datetime,
) -> PanelLink:
    """To the HITs of this type. UserError where the panel could not use it."""
    if not 1 <= tasks <= MOST_TASKS:
        raise UserError(f"A visit has 1 to {MOST_TASKS} tasks, not {tasks:,}.")
    parameter = parameter or PANELS[panel].parameter
    if not _PARAMETER.fullmatch(parameter):
        raise UserError(
            "A parameter of a link begins with a letter, then has letters, digits, and . _ - only."
        )
    if code and not _CODE.fullmatch(code):
        raise UserError("A completion code has 4 to 64 letters, digits, - or _.")
    _check_return(return_url)
    return PanelLink.objects.create(
        queue=Queue.objects.get(hit_types__type_id=hit_type_id),
        panel=panel,
        parameter=parameter,
        tasks=tasks,
        code=code,
        return_url=return_url,
        note=note,
        created_at=now,
    )


def _check_return(url: str) -> None:
    if not url:
        return
    try:
        parts = urlsplit(url)
        is_web = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        is_web = False
    rest = url.replace("{person}", "").replace("{code}", "")
    if re.search("[{}]", rest):
        raise UserError("A return link has {person} and {code} in braces, and nothing else.")
    if not is_web or len(url) > LONGEST_URL or not url.isprintable() or " " in url:
        raise UserError(
            f"A return link begins with https:// and has at most {LONGEST_URL} characters."
        )


def links_to(hit_type_id: str) -> QuerySet[PanelLink]:
    """Those to the HITs of this type, the newest first."""
    types = HitType.objects.filter(type_id=hit_type_id)
    return PanelLink.objects.filter(queue__in=types.values("queue")).order_by("-pk")


def close_link(link: PanelLink, *, now: datetime) -> None:
    """Nobody new can come by it; who is here already may finish."""
    PanelLink.objects.filter(pk=link.pk, closed_at=None).update(closed_at=now)


@dataclass(frozen=True)
class Person:
    """Who comes, by the panel's words."""

    id: str
    session: str = ""


def person_in(link: PanelLink, parameters: Mapping[str, str]) -> Person:
    """Of the address. UserError where the panel says nothing there."""
    person, session = _given(link.parameter, parameters, LONGEST_ID), PANELS[link.panel].session
    return Person(person, _given(session, parameters, LONGEST_SESSION) if session else "")


def _given(name: str, parameters: Mapping[str, str], longest: int) -> str:
    value = parameters.get(name, "").strip()
    if not value:
        raise UserError(
            f"The link does not say who you are: {name} is missing. Open it from the panel's own "
            "page."
        )
    if len(value) > longest or not value.isprintable() or _UNFILLED.search(value):
        raise UserError(f"The link has no proper {name}. Open it from the panel's own page.")
    return value


def known_visit(link: PanelLink, person: Person) -> Visit | None:
    """Of somebody who has come by the link before, or by another one and has not finished."""
    mine = Visit.objects.filter(member__participant__in=_participants(link, person))
    mine = mine.select_related("member__user", "link__queue")
    this_one = mine.filter(link=link, session_id=person.session).first()
    return this_one or mine.filter(link__queue=link.queue_id, finished_at=None).first()


def arrive(link: PanelLink, person: Person, *, now: datetime) -> Visit:
    """Begin the visit, or go on with it. UserError where the person cannot come in."""
    if (visit := known_visit(link, person)) is not None:
        if visit.session_id != person.session:
            raise UserError("Your last study here is still open: finish it first.")
        return _welcome(visit)
    if link.closed_at is not None:
        raise UserError("This study has closed. Return it on the panel's own page.")
    try:
        with transaction.atomic():
            member = _member(link, person, now)
            code = link.code or new_code()
            visit = Visit.objects.create(
                link=link, member=member, session_id=person.session, code=code, arrived_at=now
            )
    except IntegrityError as error:
        if (known := known_visit(link, person)) is None:
            raise UserError(
                "Somebody else has come by this link. Open the study from the panel's own page."
            ) from error
        visit = known  # a second click was quicker
    return _welcome(visit)


def _welcome(visit: Visit) -> Visit:
    if not (visit.member.active and visit.member.user.is_active):
        raise UserError(NO_FURTHER_PART)
    return visit


def _member(link: PanelLink, person: Person, now: datetime) -> Member:
    known = _participants(link, person).select_related("member").first()
    if known is not None:
        return known.member
    user = User.objects.create_user(f"{link.panel}-{secrets.token_hex(8)}")
    member = Member.objects.create(user=user, crowd=link.queue.crowd, joined_at=now)
    Participant.objects.create(member=member, panel=_panel(link), external_id=person.id)
    return member


def _participants(link: PanelLink, person: Person) -> QuerySet[Participant]:
    return Participant.objects.filter(panel=_panel(link), external_id=person.id)


def _panel(link: PanelLink) -> str:
    """Ids of panels without a name of their own here are each link's own."""
    return f"{OTHER}-{link.key}" if link.panel == OTHER else link.panel


def participants_called(name: str, hit_type_id: str) -> list[str]:
    """The worker ids of those who came to these HITs under this ID of a panel's."""
    if is_member(name):
        return [name]
    known = Participant.objects.filter(external_id=name.replace("\0", ""))
    here = known.filter(member__visits__link__in=links_to(hit_type_id))
    return sorted(set(here.values_list("member__worker_id", flat=True)))


def visits_of(member: Member) -> QuerySet[Visit]:
    """Those under way first, of which the last one begun, and then the last one finished."""
    visits = Visit.objects.filter(member=member).select_related("link__queue")
    return visits.order_by(F("finished_at").desc(nulls_first=True), "-pk")


def open_visit(member: Member, queue_id: str = "") -> Visit | None:
    """The one under way, to this queue where it is given; none of somebody of the team."""
    if member.is_of_team:
        return None
    here = Q(link__queue__queue_id=queue_id) if queue_id else Q()
    return visits_of(member).filter(here, finished_at=None).first()


def is_full(visit: Visit) -> bool:
    return done_in(visit).handed_in >= visit.link.tasks


def done_in(visit: Visit) -> Done:
    (counted,) = with_done(Visit.objects.filter(pk=visit.pk))
    return done_of(counted)


def with_done(visits: QuerySet[Visit]) -> QuerySet[Visit]:
    """With the counts that `done_of` reads."""
    status = "assignments__status"
    return visits.annotate(
        handed_in=Count("pk", filter=Q(**{f"{status}__in": HANDED_IN})),
        approved=Count("pk", filter=Q(**{status: Assignment.Status.APPROVED})),
        rejected=Count("pk", filter=Q(**{status: Assignment.Status.REJECTED})),
    )


def done_of(counted: Any) -> Done:
    return Done(counted.handed_in, counted.approved, counted.rejected)


def finish(visit: Visit, *, now: datetime) -> bool:
    """End it with its code; False where nothing was done, for which nobody is paid.

    What was done is submitted then, or when the panel says that the person has come back to it.
    """
    with transaction.atomic():
        if not Visit.objects.filter(pk=visit.pk, finished_at=None).update(finished_at=now):
            return True
        # First: what is handed in at this moment is then either held, or refused.
        give_back_all(visit.assignments.all())
        if not visit.assignments.filter(status=Assignment.Status.HELD).exists():
            transaction.set_rollback(True)
            return False
        if not PANELS[visit.link.panel].crowd.by_study:
            submit_all(visit, now=now)
    visit.finished_at = now
    return True


def submit_all(visit: Visit, *, now: datetime) -> None:
    """What was handed in during the visit."""
    held = visit.assignments.filter(status=Assignment.Status.HELD)
    held.update(status=Assignment.Status.SUBMITTED, submitted_at=now)


def way_back(visit: Visit) -> str:
    """The panel's page, where it has one, with the person's id and the code in it."""
    person = Participant.objects.filter(member=visit.member_id).values_list(
        "external_id", flat=True
    )
    values = {"{person}": person.first() or "", "{code}": visit.code}
    url = visit.link.return_url
    for name, value in values.items():
        url = url.replace(name, quote(value, safe=""))
    return url


@transaction.atomic
def forget(member: Member) -> None:
    """Nothing here says any more who it was; the judgments stay. UserError: not yet."""
    sessions = member.visits.exclude(session_id="")
    if sessions.filter(outcome__in=("", Visit.Outcome.CONFIRMED)).exists():
        raise UserError(
            f"{member.worker_id} has a study that the panel has not paid or ended yet, which it "
            "knows by this ID. Delete the ID after that."
        )
    for visit in sessions:
        visit.session_id = f"forgotten {visit.pk}"
        visit.save(update_fields=["session_id"])
    Participant.objects.filter(member=member).delete()
    User.objects.filter(pk=member.user_id).update(is_active=False)
    deactivate(member)
