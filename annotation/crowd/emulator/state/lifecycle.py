"""What time does by itself: work is abandoned at its deadline or approved, HITs expire."""

from annotation.crowd.emulator.state import money
from annotation.crowd.wire.session import Row, Session


def is_due(session: Session) -> bool:
    row = session.db.execute(
        "SELECT EXISTS (SELECT 1 FROM assignments WHERE status = 'Accepted' AND deadline <= ?)"
        " OR EXISTS (SELECT 1 FROM assignments WHERE status = 'Submitted'"
        "  AND auto_approval_at <= ?)"
        " OR EXISTS (SELECT 1 FROM hits WHERE expired = 0 AND expires_at <= ?)"
        " OR EXISTS (SELECT 1 FROM qualification_requests WHERE status = 'Started'"
        "  AND deadline <= ?)",
        (session.now,) * 4,
    ).fetchone()
    return bool(row[0])


def sweep(session: Session) -> None:
    """Carry out all that has fallen due; every transaction that writes begins with it."""
    abandoned = session.db.execute(
        "SELECT assignment_id, hit_id, deadline FROM assignments"
        " WHERE status = 'Accepted' AND deadline <= ?",
        (session.now,),
    ).fetchall()
    for assignment in abandoned:
        give_back(session, assignment, status="Abandoned", at=assignment["deadline"])
    _expire_hits(session)
    _approve_what_waited(session)
    session.db.execute(
        "UPDATE qualification_requests SET status = 'Abandoned', decided_at = deadline"
        " WHERE status = 'Started' AND deadline <= ?",
        (session.now,),
    )


def _approve_what_waited(session: Session) -> None:
    """Work that the requester did not decide in the time that the HIT type gives."""
    waited = session.db.execute(
        "SELECT assignment_id, hit_id, auto_approval_at FROM assignments"
        " WHERE status = 'Submitted' AND auto_approval_at <= ? ORDER BY auto_approval_at",
        (session.now,),
    ).fetchall()
    for assignment in waited:
        approve(session, assignment, at=assignment["auto_approval_at"])


def approve(session: Session, assignment: Row, *, at: float, feedback: str | None = None) -> None:
    """Pay for work whose price is on hold."""
    money.pay(session, _hit(session, assignment), assignment["assignment_id"])
    session.db.execute(
        "UPDATE assignments SET status = 'Approved', approved_at = ?, feedback = ?"
        " WHERE assignment_id = ?",
        (at, feedback, assignment["assignment_id"]),
    )


def _expire_hits(session: Session) -> None:
    ended = session.db.execute(
        "SELECT hit_id, open_assignments, expires_at, reward_cents, fee_cents FROM hits"
        " WHERE expired = 0 AND expires_at <= ?",
        (session.now,),
    ).fetchall()
    for hit in ended:
        expire(session, hit, at=hit["expires_at"])


def expire(session: Session, hit: Row, *, at: float) -> None:
    """No assignment can be accepted any more; those accepted can be finished."""
    session.db.execute(
        "UPDATE hits SET expired = 1, expired_at = ? WHERE hit_id = ?", (at, hit["hit_id"])
    )
    if hit["open_assignments"]:
        money.release(session, hit, hit["open_assignments"])


def reopen(session: Session, hit: Row) -> None:
    """Offer the assignments of an expired HIT again, or raise InsufficientFunds."""
    if hit["open_assignments"]:
        money.hold(session, hit, hit["open_assignments"])
    session.db.execute(
        "UPDATE hits SET expired = 0, expired_at = NULL WHERE hit_id = ?",
        (hit["hit_id"],),
    )


def give_back(session: Session, assignment: Row, *, status: str, at: float) -> None:
    """End accepted work without a submission: it is open again, unless the HIT has expired."""
    # In this order the HIT is never without both, which would look as if it were reviewable.
    session.db.execute(
        "UPDATE hits SET open_assignments = open_assignments + 1 WHERE hit_id = ?",
        (assignment["hit_id"],),
    )
    session.db.execute(
        "UPDATE assignments SET status = ?, ended_at = ? WHERE assignment_id = ?",
        (status, at, assignment["assignment_id"]),
    )
    hit = _hit(session, assignment)
    if hit["expired"]:
        money.release(session, hit, 1, assignment_id=assignment["assignment_id"])


def _hit(session: Session, assignment: Row) -> Row:
    hit: Row = session.db.execute(
        "SELECT hit_id, expired, reward_cents, fee_cents FROM hits WHERE hit_id = ?",
        (assignment["hit_id"],),
    ).fetchone()
    return hit
