"""What time does by itself: accepted work is abandoned at its deadline, HITs expire."""

from annotation.crowd.emulator import money
from annotation.crowd.emulator.session import Row, Session


def is_due(session: Session) -> bool:
    row = session.db.execute(
        "SELECT EXISTS (SELECT 1 FROM assignments WHERE status = 'Accepted' AND deadline <= ?)"
        " OR EXISTS (SELECT 1 FROM hits WHERE expired = 0 AND expires_at <= ?)",
        (session.now, session.now),
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


def _expire_hits(session: Session) -> None:
    ended = session.db.execute(
        "SELECT hit_id, open_places, reward_cents, fee_cents FROM hits"
        " WHERE expired = 0 AND expires_at <= ?",
        (session.now,),
    ).fetchall()
    for hit in ended:
        session.db.execute("UPDATE hits SET expired = 1 WHERE hit_id = ?", (hit["hit_id"],))
        if hit["open_places"]:
            money.release(session, hit, hit["open_places"])


def give_back(session: Session, assignment: Row, *, status: str, at: float) -> None:
    """End accepted work without a submission: its place re-opens, unless the HIT has expired."""
    session.db.execute(
        "UPDATE assignments SET status = ?, ended_at = ? WHERE assignment_id = ?",
        (status, at, assignment["assignment_id"]),
    )
    session.db.execute(
        "UPDATE hits SET open_places = open_places + 1 WHERE hit_id = ?", (assignment["hit_id"],)
    )
    hit: Row = session.db.execute(
        "SELECT hit_id, expired, reward_cents, fee_cents FROM hits WHERE hit_id = ?",
        (assignment["hit_id"],),
    ).fetchone()
    if hit["expired"]:
        money.release(session, hit, 1, assignment_id=assignment["assignment_id"])
