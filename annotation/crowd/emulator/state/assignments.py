"""The worker's side of MTurk's rules: sign in, find work, accept, submit, return."""

import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import islice

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.ids import new_id
from annotation.crowd.emulator.question.answers import Fields, answers_xml, read_reply
from annotation.crowd.emulator.question.form import Form, read_form
from annotation.crowd.emulator.state import lifecycle, qualifications
from annotation.crowd.wire.session import Row, Session

WORKER_ID = re.compile(r"A[A-Z0-9]{0,63}")
MAX_ANSWER_BYTES = 262_144
LAST = 1_000  # assignments whose times are looked at
# HITs with something left for a worker, whose id is bound twice.
OPEN = (
    "FROM hits h JOIN hit_types t USING (hit_type_id)"
    " WHERE h.open_assignments > 0 AND h.expired = 0"
    " AND NOT EXISTS (SELECT 1 FROM blocks b WHERE b.worker_id = ?) AND NOT EXISTS ("
    "  SELECT 1 FROM assignments a WHERE a.hit_id = h.hit_id AND a.worker_id = ?"
    "  AND a.status NOT IN ('Returned', 'Abandoned'))"
)
SHOWN = (  # by the page of an assignment
    "SELECT a.assignment_id, a.hit_id, a.worker_id, a.status, a.deadline, h.title, h.description,"
    " h.reward_cents, h.kind, h.external_url, h.frame_height, h.question"
    " FROM assignments a JOIN hit_records h USING (hit_id)"
)


class AlreadySubmitted(Refused):
    """The assignment."""

    def __init__(self, assignment: Row) -> None:
        super().__init__(409, "This assignment was submitted already.")
        self.assignment = assignment


class WrongAnswers(Refused):
    """Of a QuestionForm: each field that has to be entered again, with what is wrong with it."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__(400, next(iter(faults.values())))
        self.faults = faults


def register(session: Session, worker_id: str, status: tuple[bool, int, int] | None) -> None:
    """Sign in. `status` (Masters, approval percent, approved HITs) sets what the worker has.

    Without it a worker who is known stays as they are.
    """
    if not re.fullmatch(WORKER_ID, worker_id) or worker_id == "A":
        sentence = "A worker id is an A followed by up to 63 capital letters and digits."
        raise Refused(400, sentence)
    if status is None:
        session.db.execute(
            "INSERT OR IGNORE INTO workers VALUES (?, 0, 100, 0, ?)", (worker_id, session.now)
        )
        return
    session.db.execute(
        "INSERT INTO workers VALUES (?, ?, ?, ?, ?) ON CONFLICT (worker_id) DO UPDATE SET"
        " masters = excluded.masters, approval_percent = excluded.approval_percent,"
        " approved_hits = excluded.approved_hits",
        (worker_id, *status, session.now),
    )


def worker(session: Session, worker_id: str) -> Row:
    row: Row | None = session.db.execute(
        "SELECT * FROM workers WHERE worker_id = ?", (worker_id,)
    ).fetchone()
    if row is None:
        raise Refused(404, "Nobody has signed in with this worker id.")
    return row


def open_hits(session: Session, worker_id: str, *, skip: int, count: int) -> list[Row]:
    """HITs that the worker may accept now, the oldest first."""
    held = qualifications.held_values(session, worker(session, worker_id))
    rows = session.db.execute(
        "SELECT h.hit_id, h.reward_cents, h.expires_at, t.title, t.description,"
        f" t.assignment_seconds, t.requirements {OPEN} ORDER BY h.seq",
        (worker_id, worker_id),
    )
    # Rows are fetched one by one: the walk ends where the page does.
    eligible = (row for row in rows if qualifications.may_accept(row["requirements"], held))
    return list(islice(eligible, skip, skip + count))


def open_groups(session: Session, worker_id: str) -> list[Row]:
    """For each HIT type with a HIT left for the worker: how many, the oldest, when the last came.

    What the worker is not qualified for is among them.
    """
    return session.db.execute(
        "WITH g AS (SELECT t.*, COUNT(*) AS hits, MIN(h.seq) AS oldest,"  # noqa: S608 - ours
        f" MAX(h.created_at) AS newest {OPEN} GROUP BY hit_type_id)"
        " SELECT g.*, hits.hit_id FROM g JOIN hits ON hits.seq = g.oldest",
        (worker_id, worker_id),
    ).fetchall()


def times(session: Session) -> dict[str, list[float]]:
    """Seconds that the last assignments took, by HIT type."""
    rows = session.db.execute(
        "SELECT h.hit_type_id, a.submitted_at - a.accepted_at FROM assignments a JOIN hits h"
        " USING (hit_id) WHERE a.submit_number > 0 ORDER BY a.submit_number DESC LIMIT ?",
        (LAST,),
    )
    took = defaultdict[str, list[float]](list)
    for hit_type_id, seconds in rows:
        took[hit_type_id].append(seconds)
    return took


def oldest_open(session: Session, worker_id: str, hit_type_id: str) -> str | None:
    """Of a type, whether or not the worker is qualified for it."""
    row = session.db.execute(
        # The plus has the open HITs walked, and not those of the type, most of which are done.
        f"SELECT h.hit_id {OPEN} AND +h.hit_type_id = ? ORDER BY h.seq LIMIT 1",
        (worker_id, worker_id, hit_type_id),
    ).fetchone()
    return str(row["hit_id"]) if row else None


def previews(session: Session, worker_id: str) -> list[Row]:
    """The oldest open HIT of each type that the worker may preview and not accept yet."""
    held = qualifications.held_values(session, worker(session, worker_id))
    types = session.db.execute("SELECT hit_type_id, requirements FROM hit_types")
    guarded = [
        row["hit_type_id"]
        for row in types
        if not qualifications.may_accept(row["requirements"], held)
        and qualifications.may_preview(row["requirements"], held)
    ]
    rows = (
        session.db.execute(
            "SELECT h.hit_id, h.reward_cents, t.title, t.description"
            " FROM hits h JOIN hit_types t USING (hit_type_id)"
            " WHERE h.open_assignments > 0 AND h.expired = 0 AND h.hit_type_id = ?"
            " ORDER BY h.seq LIMIT 1",
            (hit_type_id,),
        ).fetchone()
        for hit_type_id in guarded
    )
    return [row for row in rows if row is not None]


def at_work(session: Session, worker_id: str) -> list[Row]:
    """Assignments accepted and not yet submitted."""
    return session.db.execute(
        "SELECT a.assignment_id, a.deadline, h.title, h.reward_cents"
        " FROM assignments a JOIN hit_records h USING (hit_id)"
        " WHERE a.worker_id = ? AND a.status = 'Accepted' ORDER BY a.seq",
        (worker_id,),
    ).fetchall()


def hit(session: Session, hit_id: str) -> Row:
    row: Row | None = session.db.execute(
        "SELECT * FROM hit_records WHERE hit_id = ?", (hit_id,)
    ).fetchone()
    if row is None:
        raise Refused(404, "There is no such HIT.")
    return row


def previewed_hit(session: Session, worker_id: str, hit_id: str) -> Row:
    offered = hit(session, hit_id)
    held = qualifications.held_values(session, worker(session, worker_id))
    if offered["expired"]:
        raise Refused(409, "This HIT has expired.")
    if not qualifications.may_preview(offered["requirements"], held):
        raise Refused(403, "Your qualifications do not allow you to preview this HIT.")
    return offered


def accept(session: Session, worker_id: str, hit_id: str) -> str:
    """Accept an assignment; its id."""
    held = qualifications.held_values(session, worker(session, worker_id))
    offered = hit(session, hit_id)
    _check_open(session, worker_id, offered)
    if not qualifications.may_accept(offered["requirements"], held):
        raise Refused(409, "Your qualifications do not meet this HIT's requirements.")
    assignment_id = new_id()
    session.db.execute(
        "UPDATE hits SET open_assignments = open_assignments - 1 WHERE hit_id = ?", (hit_id,)
    )
    session.db.execute(
        "INSERT INTO assignments"
        " (assignment_id, hit_id, worker_id, status, accepted_at, deadline)"
        " VALUES (?, ?, ?, 'Accepted', ?, ?)",
        (
            assignment_id,
            hit_id,
            worker_id,
            session.now,
            session.now + offered["assignment_seconds"],
        ),
    )
    return assignment_id


def _check_open(session: Session, worker_id: str, offered: Row) -> None:
    if offered["expired"]:
        raise Refused(409, "This HIT has expired.")
    blocked = session.db.execute(
        "SELECT 1 FROM blocks WHERE worker_id = ?", (worker_id,)
    ).fetchone()
    if blocked is not None:
        raise Refused(409, "The requester of this HIT has blocked you.")
    taken = session.db.execute(
        "SELECT 1 FROM assignments WHERE hit_id = ? AND worker_id = ?"
        " AND status NOT IN ('Returned', 'Abandoned')",
        (offered["hit_id"], worker_id),
    ).fetchone()
    if taken is not None:
        raise Refused(409, "You have taken an assignment of this HIT already.")
    if offered["open_assignments"] == 0:
        raise Refused(409, "Other workers have taken all assignments of this HIT.")


def accepted_assignment(session: Session, worker_id: str, assignment_id: str) -> Row:
    """The worker's own assignment, still to be submitted, with what its page shows."""
    row: Row | None = session.db.execute(
        f"{SHOWN} WHERE a.assignment_id = ? AND a.worker_id = ?",
        (assignment_id, worker_id),
    ).fetchone()
    return _open(row)


def open_assignment(session: Session, assignment_id: str) -> Row:
    """As `accepted_assignment`, for whoever has its id."""
    row: Row | None = session.db.execute(
        f"{SHOWN} WHERE a.assignment_id = ?", (assignment_id,)
    ).fetchone()
    return _open(row)


def _open(assignment: Row | None) -> Row:
    if assignment is None:
        raise Refused(404, "There is no such assignment.")
    if assignment["status"] == "Abandoned":
        raise Refused(409, "The time allotted for this assignment has run out.")
    if assignment["status"] == "Returned":
        raise Refused(409, "This assignment was returned.")
    if assignment["status"] != "Accepted":
        raise AlreadySubmitted(assignment)
    return assignment


def give_back(session: Session, worker_id: str, assignment_id: str) -> None:
    assignment = accepted_assignment(session, worker_id, assignment_id)
    lifecycle.give_back(session, assignment, status="Returned", at=session.now)


def submit(
    session: Session, assignment_id: str, fields: Fields, *, approved_after: float | None
) -> Row:
    """Submit the answers; the assignment as it was, with the kind of its question.

    MTurk approves them after so many seconds; None: after those of the HIT type. Raises
    WrongAnswers, a Refused, where a QuestionForm is not filled in as it asks.
    """
    assignment = _open(
        session.db.execute(
            "SELECT a.assignment_id, a.hit_id, a.worker_id, a.status, h.auto_approval_seconds,"
            " h.kind, h.question"
            " FROM assignments a JOIN hit_records h USING (hit_id) WHERE a.assignment_id = ?",
            (assignment_id,),
        ).fetchone()
    )
    answer = _answer(assignment, fields)
    if len(answer.encode()) > MAX_ANSWER_BYTES:
        raise Refused(413, f"The answers are larger than {MAX_ANSWER_BYTES} bytes.")
    delay = assignment["auto_approval_seconds"] if approved_after is None else approved_after
    session.db.execute(
        "UPDATE assignments SET status = 'Submitted', submitted_at = ?, answer = ?,"
        " auto_approval_at = ?,"
        " submit_number = (SELECT COALESCE(MAX(submit_number), 0) + 1 FROM assignments)"
        " WHERE assignment_id = ?",
        (session.now, answer, session.now + delay, assignment_id),
    )
    return assignment


def _answer(assignment: Row, fields: Fields) -> str:
    """Equal names of a requester's own form are joined as MTurk does."""
    if assignment["kind"] == Form.kind:
        reply = read_reply(read_form(assignment["question"], "Question"), fields)
        if reply.faults:
            raise WrongAnswers(reply.faults)
        return reply.xml
    joined: dict[str, list[str]] = {}
    for name, value in fields:
        joined.setdefault(name, []).append(value)
    if not joined:
        raise Refused(400, "The form holds no answer besides the assignmentId.")
    return answers_xml([(name, "|".join(values)) for name, values in joined.items()])
