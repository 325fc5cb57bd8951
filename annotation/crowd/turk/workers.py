"""A member of the team at the site's Turk: what they may do there, have in hand, have earned."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.http.worker_pages import FRAMES, NO_ASSIGNMENT
from annotation.crowd.emulator.question.answers import Fields
from annotation.crowd.emulator.question.form import Form
from annotation.crowd.emulator.question.render import fields as form_fields
from annotation.crowd.emulator.state import (
    assignments,
    qualification_requests,
    qualifications,
)
from annotation.crowd.emulator.state.questions import HTMLQuestion, frame_url, parse_question
from annotation.crowd.emulator.store import Store
from annotation.crowd.inhouse.models import Member
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.wire.session import Row, Session

Wrong = tuple[Fields, Mapping[str, str]]  # what was entered in a form, and the faults of it
PREFIX = "A"  # of worker ids at a Turk
FIGURES = ("worker_id", "masters", "approval_percent", "approved_hits")
ENDED = "Your membership has ended: what you had in hand goes to others."


NAMES = {  # of the system's types, to people
    qualifications.NUMBER_APPROVED: "Approved HITs",
    qualifications.PERCENT_APPROVED: "Approval rate in percent",
    qualifications.LOCALE: "Country",
}
WANTED = {
    "LessThan": "less than",
    "LessThanOrEqualTo": "at most",
    "GreaterThan": "more than",
    "GreaterThanOrEqualTo": "at least",
    "EqualTo": "exactly",
    "NotEqualTo": "anything but",
    "In": "one of",
    "NotIn": "none of",
}


@dataclass(frozen=True)
class Lack:
    """A qualification that a HIT wants and the worker does not have as it is wanted."""

    name: str
    wanted: str  # empty: any value
    type_id: str  # empty: nobody can ask for it


MEASURED = 5  # times of a type from which on their median is told
MESSAGES = 5  # of requesters, that a worker sees


@dataclass(frozen=True)
class Group:
    """HITs of one type, as its requester names them."""

    requester: str
    hit_id: str  # of the oldest one
    title: str
    description: str
    keywords: str
    cents: int
    hits: int
    newest: float
    minutes: int
    took: float | None  # seconds, the median of the last ones; None: too few were submitted
    unmet: list[Lack]
    may_preview: bool


class Message(NamedTuple):
    """From a requester."""

    requester: str
    subject: str
    text: str
    sent_at: datetime


@dataclass(frozen=True)
class Held:
    requester: str
    assignment_id: str
    title: str
    cents: int
    deadline: datetime


@dataclass(frozen=True)
class Question:
    """A HIT before or after it is accepted, and the address of its frame."""

    hit: Row
    assignment_id: str  # empty: a preview
    deadline: datetime | None
    frame: str  # its address; empty: the fields are on our page
    sandbox: str
    fields: str


def worker_id_of(member: Member) -> str:
    return PREFIX + member.worker_id


def member_with(worker_id: str) -> Member | None:
    known = Member.objects.select_related("user")
    return known.filter(worker_id=worker_id.removeprefix(PREFIX)).first()


def is_expected(worker_id: str) -> bool:
    """Of the team, whether or not they have opened a page of the Turk."""
    member = member_with(worker_id)
    if member is None or worker_id_of(member) != worker_id:
        return False
    return member.active and member.is_of_team


class TurkWorker:
    """A member in one environment, over the stores of its open accounts."""

    def __init__(self, member: Member, environment: Environment) -> None:
        self.worker_id = worker_id_of(member)
        self.environment = environment
        accounts = RequesterAccount.objects.order_by("name")
        stores = [(account, store_of(account, environment)) for account in accounts]
        self.stores = {account.name: store for account, store in stores if account.active}
        self._figures = _figures([store for _, store in stores], self.worker_id)
        for store in self.stores.values():
            if _known(store, self.worker_id) is None:
                self._enter(store)

    def groups(self) -> list[Group]:
        """What may be discovered, with what the worker is not qualified for."""
        return [
            group for name, store in self.stores.items() for group in self._groups_of(name, store)
        ]

    def find_group(self, group_id: str) -> tuple[str, str | None] | None:
        """The requester, and the oldest HIT that is open. Programs also name groups by HIT type."""
        for name, store in self.stores.items():
            with store.reading() as session:
                row = session.db.execute(
                    "SELECT hit_type_id FROM hit_types"
                    " WHERE ? IN (hit_group_id, hit_type_id) AND deleted_at IS NULL",
                    (group_id,),
                ).fetchone()
                if row:
                    oldest = assignments.oldest_open(session, self.worker_id, row["hit_type_id"])
                    return name, oldest
        return None

    def messages(self) -> list[Message]:
        """The last ones, the newest first."""
        last = [one for name, store in self.stores.items() for one in self._messages(name, store)]
        return sorted(last, key=attrgetter("sent_at"), reverse=True)[:MESSAGES]

    def _messages(self, name: str, store: Store) -> list[Message]:
        with store.reading() as session:
            rows = session.db.execute(
                "SELECT * FROM notifications WHERE worker_id = ? ORDER BY seq DESC LIMIT ?",
                (self.worker_id, MESSAGES),
            ).fetchall()
        return [Message(name, row["subject"], row["text"], moment(row["sent_at"])) for row in rows]

    def _groups_of(self, name: str, store: Store) -> Iterator[Group]:
        with store.reading() as session:
            held = qualifications.held_values(session, self._figures)
            known = qualification_requests.known(session, self.worker_id)
            offered = {row["qualification_type_id"] for row in known if row["status"] == "Active"}
            took = assignments.times(session)
            for row in assignments.open_groups(session, self.worker_id):
                unmet = [
                    requirement
                    for requirement in json.loads(row["requirements"])
                    if not qualifications.meets(requirement, held)
                ]
                guards = {requirement["ActionsGuarded"] for requirement in unmet}
                if qualifications.GUARDS[2] not in guards:
                    lacks = [_lack(session, each, held, offered) for each in unmet]
                    may_preview = guards <= {qualifications.GUARDS[0]}
                    times = took.get(row["hit_type_id"], ())
                    yield _group(name, row, lacks, times, may_preview=may_preview)

    def in_hand(self) -> list[Held]:
        held = []
        for name, store in self.stores.items():
            with store.reading() as session:
                for row in assignments.at_work(session, self.worker_id):
                    shown = row["assignment_id"], row["title"], row["reward_cents"]
                    held.append(Held(name, *shown, moment(row["deadline"])))
        return sorted(held, key=lambda one: one.deadline)

    def preview(self, requester: str, hit_id: str, *, site: str) -> Question:
        """`site`: what is below the addresses that the question's own page uses."""
        with self.store(requester).reading() as session:
            hit = assignments.previewed_hit(session, self.worker_id, hit_id)
        parameters = {"assignmentId": NO_ASSIGNMENT, "hitId": hit_id, "turkSubmitTo": site}
        return _question(hit, parameters)

    def accept(self, requester: str, hit_id: str) -> str:
        """The assignment's id; of another HIT of the type where others were faster."""
        with self.store(requester).writing() as session:
            if not assignments.hit(session, hit_id)["open_assignments"]:
                hit_id = self._like(session, hit_id) or hit_id
            return assignments.accept(session, self.worker_id, hit_id)

    def question(
        self, requester: str, assignment_id: str, *, site: str, wrong: Wrong | None = None
    ) -> Question:
        with self.store(requester).reading() as session:
            mine = assignments.accepted_assignment(session, self.worker_id, assignment_id)
            hit = assignments.hit(session, mine["hit_id"])
        parameters = {
            "assignmentId": assignment_id,
            "hitId": hit["hit_id"],
            "workerId": self.worker_id,
            "turkSubmitTo": site,
        }
        return _question(hit, parameters, assignment_id, moment(mine["deadline"]), wrong)

    def submit(self, requester: str, assignment_id: str, fields: Fields) -> str:
        """The HIT's id. Raises WrongAnswers where a form is not filled in as it asks."""
        with self.store(requester).writing() as session:
            mine = assignments.accepted_assignment(session, self.worker_id, assignment_id)
            assignments.submit(session, assignment_id, fields, approved_after=None)
        return str(mine["hit_id"])

    def give_back(self, requester: str, assignment_id: str) -> None:
        with self.store(requester).writing() as session:
            assignments.give_back(session, self.worker_id, assignment_id)

    def next_hit(self, requester: str, hit_id: str) -> str | None:
        with self.store(requester).reading() as session:
            return self._like(session, hit_id)

    def _like(self, session: Session, hit_id: str) -> str | None:
        """An open one of the same type."""
        hit_type_id = assignments.hit(session, hit_id)["hit_type_id"]
        return assignments.oldest_open(session, self.worker_id, hit_type_id)

    def store(self, requester: str) -> Store:
        """Where their figures are those of now, which each approval changes at all requesters."""
        if requester not in self.stores:
            raise Refused(404, "There is no such requester.")
        store = self.stores[requester]
        if _known(store, self.worker_id) != self._figures:
            self._enter(store)
        return store

    def _enter(self, store: Store) -> None:
        """The store knows them, and the figures that its requirements ask for."""
        masters, percent, approved = (self._figures[name] for name in FIGURES[1:])
        with store.writing() as session:
            assignments.register(session, self.worker_id, (masters, percent, approved))


def submit(store: Store, assignment_id: str, fields: Fields) -> Row:
    """By whoever knows the assignment's id, which only its worker was given; the assignment."""
    with store.reading() as session:
        row: Row | None = session.db.execute(
            "SELECT hit_id, worker_id, kind FROM assignments JOIN hits USING (hit_id)"
            " WHERE assignment_id = ?",
            (assignment_id,),
        ).fetchone()
    if row is None:
        raise Refused(404, "There is no such assignment.")
    member = member_with(row["worker_id"])
    if member is None or not member.active:
        raise Refused(403, ENDED)
    with store.writing() as session:
        assignments.submit(session, assignment_id, fields, approved_after=None)
    return row


def _figures(stores: Sequence[Store], worker_id: str) -> dict[str, Any]:
    """As a store has them, of all requesters together. Nobody is a Master here."""
    counts = {"Approved": 0, "Rejected": 0}
    for store in stores:
        with store.reading() as session:
            rows = session.db.execute(
                "SELECT status, COUNT(*) FROM assignments"
                " WHERE worker_id = ? AND status IN ('Approved', 'Rejected') GROUP BY status",
                (worker_id,),
            )
            for status, count in rows:
                counts[status] += count
    approved, decided = counts["Approved"], sum(counts.values())
    percent = 100 * approved // decided if decided else 100
    return dict(zip(FIGURES, (worker_id, 0, percent, approved), strict=True))


def _known(store: Store, worker_id: str) -> dict[str, Any] | None:
    with store.reading() as session:
        known = session.db.execute(
            "SELECT worker_id, masters, approval_percent, approved_hits FROM workers"
            " WHERE worker_id = ?",
            (worker_id,),
        ).fetchone()
    return known and dict(known)


def _group(
    name: str, row: Row, unmet: list[Lack], times: Sequence[float], *, may_preview: bool
) -> Group:
    return Group(
        requester=name,
        hit_id=row["hit_id"],
        title=row["title"],
        description=row["description"],
        keywords=row["keywords"],
        cents=row["reward_cents"],
        hits=row["hits"],
        newest=row["newest"],
        minutes=max(1, row["assignment_seconds"] // 60),
        took=median(times) if len(times) >= MEASURED else None,
        unmet=unmet,
        may_preview=may_preview,
    )


def _lack(
    session: Session,
    requirement: qualifications.Requirement,
    held: qualifications.HeldValues,
    offered: set[str],
) -> Lack:
    type_id = requirement["QualificationTypeId"]
    [name] = session.db.execute(
        "SELECT name FROM qualification_types WHERE qualification_type_id = ?", (type_id,)
    ).fetchone()
    may_help = type_id in offered and requirement["Comparator"] != "DoesNotExist"
    wanted = _wanted(requirement, held.get(type_id))
    return Lack(NAMES.get(type_id, name), wanted, type_id if may_help else "")


def _wanted(requirement: qualifications.Requirement, held: qualifications.Value | None) -> str:
    comparator = requirement["Comparator"]
    if comparator == "DoesNotExist":
        return "only without it"
    if comparator == "Exists":
        return ""
    values = ", ".join(map(str, qualifications.wanted_values(requirement)))
    yours = "none" if held is None else held
    return f"{WANTED[comparator]} {values}; yours: {yours}"


def _question(
    hit: Row,
    parameters: Mapping[str, str],
    assignment_id: str = "",
    deadline: datetime | None = None,
    wrong: Wrong | None = None,
) -> Question:
    question = parse_question(hit["question"])
    about = hit, assignment_id, deadline
    if isinstance(question, Form):
        return Question(*about, "", "", form_fields(question, *(wrong or ())))
    page = f"{parameters['turkSubmitTo']}/question/{hit['hit_id']}"
    frame = frame_url(hit["external_url"] or page, [*parameters.items()])
    return Question(*about, frame, FRAMES[question.kind], "")


def html_question(store: Store, hit_id: str) -> str:
    """The requester's own page."""
    with store.reading() as session:
        question = parse_question(assignments.hit(session, hit_id)["question"])
    if not isinstance(question, HTMLQuestion):
        raise Refused(404, "The question of this HIT is not a page of ours.")
    return question.html


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
