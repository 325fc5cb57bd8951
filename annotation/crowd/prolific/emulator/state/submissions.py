"""A submission's way: a place is taken, opened, completed or given up, reviewed, paid."""

from annotation.crowd.prolific.emulator.errors import unknown
from annotation.crowd.prolific.emulator.session import Session, new_id
from annotation.crowd.prolific.emulator.state import events, studies
from annotation.crowd.wire.session import Row

MINUTE = 60.0
RESERVED_SECONDS = 10 * MINUTE
REVIEW_SECONDS = 21 * 86_400.0  # after which Prolific approves by itself
UNFINISHED = ("RESERVED", "ACTIVE")


def submission_row(session: Session, submission_id: object) -> Row:
    row = session.row(
        "SELECT u.*, s.reward_cents, s.max_minutes, p.workspace_id FROM submissions u"
        " JOIN studies s USING (study_id) JOIN projects p USING (project_id)"
        " WHERE u.submission_id = ?",
        submission_id,
    )
    if row is None:
        raise unknown("submission", submission_id)
    return row


def reserve(session: Session, study: Row, participant_id: str) -> str:
    submission_id = new_id()
    session.insert(
        "submissions",
        submission_id=submission_id,
        study_id=study["study_id"],
        participant_id=participant_id,
        status="RESERVED",
        reserved_at=session.now,
        due_at=session.now + RESERVED_SECONDS,
    )
    _tell(session, submission_row(session, submission_id), "RESERVED")
    studies.refresh(session, study["study_id"])
    return submission_id


def begin(session: Session, submission: Row) -> None:
    due = session.now + submission["max_minutes"] * MINUTE
    _move(session, submission, "ACTIVE", due_at=due, started_at=session.now)


def complete(session: Session, submission: Row, code: str | None, *, refresh: bool = True) -> None:
    """Completed: it waits for its review."""
    _move(
        session,
        submission,
        "AWAITING REVIEW",
        due_at=session.now + REVIEW_SECONDS,
        completed_at=session.now,
        entered_code=code,
        refresh=refresh,
    )


def end(session: Session, submission: Row, status: str) -> None:
    """TIMED-OUT or RETURNED: the place is free again."""
    reviewed = submission["status"] == "AWAITING REVIEW"
    _move(session, submission, status, due_at=None, refresh=not reviewed)
    if reviewed:
        studies.reopen_for(session, submission["study_id"])
        studies.refresh(session, submission["study_id"])


def approve(session: Session, submission: Row) -> None:
    pay(session, submission, "APPROVED", kind="reward", cents=submission["reward_cents"])


def pay(session: Session, submission: Row, status: str, *, kind: str, cents: int) -> None:
    if cents:
        session.insert(
            "payments",
            submission_id=submission["submission_id"],
            kind=kind,
            cents=cents,
            at=session.now,
        )
    completed_at = submission["completed_at"] or session.now
    _move(session, submission, status, due_at=None, completed_at=completed_at)


def reject(session: Session, submission: Row, *, category: str, message: str) -> None:
    _move(
        session,
        submission,
        "REJECTED",
        due_at=None,
        rejection_category=category,
        rejection_message=message,
        refresh=False,
    )
    studies.reopen_for(session, submission["study_id"])
    studies.refresh(session, submission["study_id"])


def restore(session: Session, submission: Row) -> None:
    """A rejected or returned one waits for its review again."""
    _move(session, submission, "AWAITING REVIEW", due_at=session.now + REVIEW_SECONDS)


def request_return(session: Session, submission: Row) -> None:
    session.db.execute(
        "UPDATE submissions SET return_requested = ? WHERE submission_id = ?",
        (session.now, submission["submission_id"]),
    )


def _move(
    session: Session, submission: Row, status: str, *, refresh: bool = True, **values: object
) -> None:
    columns = "".join(f", {name} = ?" for name in values)  # ours
    session.db.execute(
        f"UPDATE submissions SET status = ?{columns} WHERE submission_id = ?",  # noqa: S608
        (status, *values.values(), submission["submission_id"]),
    )
    _tell(session, submission, status)
    if refresh:
        studies.refresh(session, submission["study_id"])


def _tell(session: Session, submission: Row, status: str) -> None:
    events.emit(
        session,
        events.SUBMISSION_STATUS,
        submission["workspace_id"],
        submission["submission_id"],
        participant_id=submission["participant_id"],
        status=status,
    )
    events.emit(session, events.STUDY_PROGRESS, submission["workspace_id"], submission["study_id"])
