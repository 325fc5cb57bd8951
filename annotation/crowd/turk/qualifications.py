"""What a member asks requesters at the site's Turk for: qualifications, and their tests."""

from dataclasses import dataclass
from datetime import datetime

from annotation.crowd.emulator.http.worker_pages import duration
from annotation.crowd.emulator.question.answers import Fields
from annotation.crowd.emulator.question.render import fields as form_fields
from annotation.crowd.emulator.state import qualification_requests
from annotation.crowd.turk.workers import TurkWorker, Wrong, moment
from annotation.crowd.wire.session import Row

CLOSED = "The requester does not offer this qualification at the moment."


@dataclass(frozen=True)
class Qualification:
    """A type that its requester offers or the worker has, and how far the worker is with it."""

    requester: str
    type_id: str
    name: str
    description: str
    keywords: str
    value: int | None
    status: str  # of the last request; empty: none
    reason: str  # of its rejection
    request_id: str
    deadline: datetime | None  # of the test that it began
    test: str  # how long that lasts; empty: there is none
    may_ask: bool
    sentence: str  # when they may ask

    @property
    def is_mine(self) -> bool:
        return self.value is not None or self.status in ("Started", "Pending")


@dataclass(frozen=True)
class OpenTest:
    name: str
    description: str
    deadline: datetime
    fields: str


def qualifications_of(worker: TurkWorker) -> list[Qualification]:
    """By name, those that the worker has and those that they may ask for."""
    known = [one for requester in worker.stores for one in _known(worker, requester)]
    return sorted(known, key=lambda one: one.name.casefold())


def qualification(worker: TurkWorker, requester: str, type_id: str) -> Qualification:
    known = (one for one in _known(worker, requester) if one.type_id == type_id)
    one = next(known, None)
    if one is None:
        raise qualification_requests.unknown()
    return one


def ask(worker: TurkWorker, requester: str, type_id: str) -> Row:
    """The request: Granted, Pending, or Started where there is a test to take."""
    with worker.store(requester).writing() as session:
        return qualification_requests.request(session, worker.worker_id, type_id)


def open_test(
    worker: TurkWorker, requester: str, request_id: str, *, wrong: Wrong | None = None
) -> OpenTest:
    with worker.store(requester).reading() as session:
        started, form = qualification_requests.started_test(session, worker.worker_id, request_id)
    about = started["name"], started["description"], moment(started["deadline"])
    return OpenTest(*about, form_fields(form, *(wrong or ())))


def submit_test(worker: TurkWorker, requester: str, request_id: str, fields: Fields) -> Row:
    """The request as it is then. Raises WrongAnswers where the test asks for others."""
    with worker.store(requester).writing() as session:
        return qualification_requests.submit_test(session, worker.worker_id, request_id, fields)


def _known(worker: TurkWorker, requester: str) -> list[Qualification]:
    with worker.store(requester).reading() as session:
        rows = qualification_requests.known(session, worker.worker_id)
        return [_qualification(requester, row, session.now) for row in rows]


def _qualification(requester: str, row: Row, now: float) -> Qualification:
    is_open = row["status"] == "Active"
    refusal = qualification_requests.refusal(row, now) if is_open else CLOSED
    return Qualification(
        requester=requester,
        type_id=row["qualification_type_id"],
        name=row["name"],
        description=row["description"],
        keywords=row["keywords"],
        value=row["value"],
        status=row["request_status"] or "",
        reason=row["reason"] or "",
        request_id=row["qualification_request_id"] or "",
        deadline=moment(row["deadline"]) if row["deadline"] else None,
        test=duration(row["test_seconds"]) if row["test_seconds"] else "",
        may_ask=refusal is None and row["request_status"] != "Started",
        sentence=refusal or _delay(row["retry_seconds"], has_test=row["test"] is not None),
    )


def _delay(seconds: int | None, *, has_test: bool) -> str:
    request = "take the test" if has_test else "ask for it"
    if seconds is None:
        return f"You can {request} only once."
    if not seconds:
        return f"You can {request} as often as you like."
    return f"After you {request}, you can do so again in {duration(seconds)}."
