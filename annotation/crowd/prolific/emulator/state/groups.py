"""Participant groups: sets of participants that filters of studies refer to."""

from collections.abc import Iterable

from annotation.crowd.prolific.emulator.errors import unknown
from annotation.crowd.prolific.emulator.session import Session
from annotation.crowd.wire.session import Row


def group_row(session: Session, group_id: object) -> Row:
    row = session.row(
        "SELECT g.*, (SELECT COUNT(*) FROM members m WHERE m.group_id = g.group_id) AS number"
        " FROM participant_groups g WHERE g.group_id = ?",
        group_id,
    )
    if row is None or row["is_deleted"]:
        raise unknown("participant group", group_id)
    return row


def add(session: Session, group_id: str, participants: Iterable[str]) -> None:
    """Who is a member already stays one, since the day that they were."""
    for participant_id in participants:
        session.db.execute(
            "INSERT OR IGNORE INTO members (group_id, participant_id, added_at) VALUES (?, ?, ?)",
            (group_id, participant_id, session.now),
        )


def remove(session: Session, group_id: str, participants: Iterable[str]) -> None:
    for participant_id in participants:
        session.db.execute(
            "DELETE FROM members WHERE group_id = ? AND participant_id = ?",
            (group_id, participant_id),
        )


def is_member(session: Session, group_id: str, participant_id: str) -> bool:
    """Of a deleted group nobody is."""
    query = (
        "SELECT 1 FROM members JOIN participant_groups USING (group_id)"
        " WHERE group_id = ? AND participant_id = ? AND NOT is_deleted"
    )
    return session.row(query, group_id, participant_id) is not None
