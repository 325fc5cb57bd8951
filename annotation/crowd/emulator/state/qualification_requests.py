"""The worker's side of qualifications: ask for one, take its test."""

from datetime import UTC, datetime

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.ids import new_id
from annotation.crowd.emulator.question.answer_key import read_key
from annotation.crowd.emulator.question.answers import Fields, read_reply
from annotation.crowd.emulator.question.form import Form, read_form
from annotation.crowd.emulator.state.assignments import WrongAnswers, worker
from annotation.crowd.emulator.state.qualifications import HIT_TYPES_THAT_REQUIRE, grant
from annotation.crowd.wire.session import Row, Session

PARAMETER = "Test"
REQUIRING = HIT_TYPES_THAT_REQUIRE.replace("?", "t.qualification_type_id")

# Each type that workers can ask for: the requester's, and the system's that is for the asking, as
# long as the requester's HITs ask for it. With what the worker has of it: `value` (granted, or
# NULL), and `request_status`, `reason`, `requested_at`, `deadline`, `qualification_request_id` of
# the last request.
TYPES = (
    "SELECT t.*, q.value, r.status AS request_status, r.reason, r.requested_at, r.deadline,"  # noqa: S608 - ours
    " r.qualification_request_id"
    " FROM qualification_types t"
    " LEFT JOIN qualifications q ON q.qualification_type_id = t.qualification_type_id"
    "  AND q.worker_id = :worker AND q.status = 'Granted'"
    " LEFT JOIN qualification_requests r ON r.seq = (SELECT MAX(seq) FROM"
    "  qualification_requests WHERE worker_id = :worker"
    "  AND qualification_type_id = t.qualification_type_id)"
    f" WHERE (t.owned = 1 OR t.auto_granted AND EXISTS ({REQUIRING})) AND t.deleted_at IS NULL"
)


def requestable(
    session: Session, worker_id: str, *, words: str, skip: int, count: int
) -> list[Row]:
    """Types that workers may ask for, by name, each with what the worker has of it."""
    worker(session, worker_id)
    return session.db.execute(
        f"{TYPES} AND t.status = 'Active'"
        " AND instr(lower(t.name || ' ' || t.keywords || ' ' || t.description), :words) > 0"
        " ORDER BY t.name LIMIT :count OFFSET :skip",
        {"worker": worker_id, "words": words.lower(), "count": count, "skip": skip},
    ).fetchall()


def known(session: Session, worker_id: str) -> list[Row]:
    """Types that workers may ask for, and those that the worker has or waits for, by name."""
    return session.db.execute(
        f"{TYPES} AND (t.status = 'Active' OR q.value IS NOT NULL"
        " OR r.status IN ('Started', 'Pending')) ORDER BY t.name",
        {"worker": worker_id},
    ).fetchall()


def request(session: Session, worker_id: str, type_id: str) -> Row:
    """Ask for a qualification, or go on with its test; the request.

    It is Granted where that needs nobody, Started where there is a test to take, else Pending.
    """
    worker(session, worker_id)
    wanted: Row | None = session.db.execute(
        f"{TYPES} AND t.status = 'Active' AND t.qualification_type_id = :type",
        {"worker": worker_id, "type": type_id},
    ).fetchone()
    if wanted is None:
        raise unknown()
    if wanted["request_status"] == "Started":
        return _row(session, worker_id, wanted["qualification_request_id"])
    if said := refusal(wanted, session.now):
        raise Refused(409, said)
    return _insert(session, worker_id, wanted)


def unknown() -> Refused:
    return Refused(404, "There is no such qualification to ask for.")


def refusal(wanted: Row, now: float) -> str | None:
    """Why the worker cannot ask for a type now, in a sentence."""
    delay, last = wanted["retry_seconds"], wanted["requested_at"]
    if wanted["request_status"] == "Pending":
        return "You have asked for this qualification: the requester will decide."
    if delay is None and wanted["value"] is not None:
        return "You have this qualification."
    if delay is None and last is not None:
        return "You have asked for this qualification already, and can ask only once."
    if last is not None and now < last + delay:
        again = datetime.fromtimestamp(last + delay, UTC)
        return f"You can ask for it again from {again:%Y-%m-%d %H:%M} UTC."
    return None


def _insert(session: Session, worker_id: str, wanted: Row) -> Row:
    has_test, now = wanted["test"] is not None, session.now
    status = "Started" if has_test else "Granted" if wanted["auto_granted"] else "Pending"
    request_id = new_id()
    session.db.execute(
        "INSERT INTO qualification_requests (qualification_request_id, qualification_type_id,"
        " worker_id, status, requested_at, deadline, test, answer_key, submitted_at, decided_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            request_id,
            wanted["qualification_type_id"],
            worker_id,
            status,
            now,
            now + wanted["test_seconds"] if has_test else None,
            wanted["test"],
            wanted["answer_key"],
            None if has_test else now,
            now if status == "Granted" else None,
        ),
    )
    if status == "Granted":
        type_id = wanted["qualification_type_id"]
        grant(session, type_id, worker_id, wanted["auto_granted_value"])
    return _row(session, worker_id, request_id)


def started_test(session: Session, worker_id: str, request_id: str) -> tuple[Row, Form]:
    """The request, with the name and description of its type, and the questions."""
    started = _row(session, worker_id, request_id)
    if started["status"] == "Abandoned":
        raise Refused(409, "The time allotted for this test has run out.")
    if started["status"] != "Started":
        raise Refused(409, "This test was submitted already.")
    return started, read_form(started["test"], PARAMETER)


def submit_test(session: Session, worker_id: str, request_id: str, fields: Fields) -> Row:
    """Graded where there is a key, else Pending; the request as it is then. Or WrongAnswers."""
    started, form = started_test(session, worker_id, request_id)
    reply = read_reply(form, fields)
    if reply.faults:
        raise WrongAnswers(reply.faults)
    is_graded = started["answer_key"] is not None
    session.db.execute(
        "UPDATE qualification_requests SET status = ?, answer = ?, submitted_at = ?,"
        " decided_at = ? WHERE qualification_request_id = ?",
        (
            "Granted" if is_graded else "Pending",
            reply.xml,
            session.now,
            session.now if is_graded else None,
            request_id,
        ),
    )
    if is_graded:
        value = read_key(started["answer_key"], form).grade(reply.answers)
        grant(session, started["qualification_type_id"], worker_id, value)
    return _row(session, worker_id, request_id)


def _row(session: Session, worker_id: str, request_id: str) -> Row:
    row: Row | None = session.db.execute(
        "SELECT r.*, t.name, t.description FROM qualification_requests r"
        " JOIN qualification_types t USING (qualification_type_id)"
        " WHERE r.qualification_request_id = ? AND r.worker_id = ?",
        (request_id, worker_id),
    ).fetchone()
    if row is None:
        raise Refused(404, "You have not asked for this qualification.")
    return row
