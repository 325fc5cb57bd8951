"""What time does by itself, one thing after another in the order of their times."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from annotation.crowd.prolific.emulator.errors import ApiError
from annotation.crowd.prolific.emulator.session import Session
from annotation.crowd.prolific.emulator.state import bonuses, studies, submissions
from annotation.crowd.wire.session import Row

DUE = """
    SELECT due_at AS at, 'submission' AS kind, submission_id AS id FROM submissions
    WHERE due_at <= :now
    UNION ALL
    SELECT active_at, 'activation', study_id FROM studies
    WHERE status = 'PUBLISHING' AND active_at <= :now
    UNION ALL
    SELECT publish_at, 'publication', study_id FROM studies
    WHERE status = 'SCHEDULED' AND publish_at <= :now
    UNION ALL
    SELECT due_at, 'approval', seq FROM bulk_approvals WHERE done_at IS NULL AND due_at <= :now
    UNION ALL
    SELECT due_at, 'bonus', seq FROM bonus_runs WHERE paid_at IS NULL AND due_at <= :now
"""


def is_due(session: Session) -> bool:
    row = session.db.execute(f"SELECT EXISTS ({DUE})", {"now": session.now}).fetchone()
    return bool(row[0])


def sweep(session: Session) -> None:
    while event := _next(session):
        _KINDS[event["kind"]](replace(session, now=event["at"]), event["id"])


def _next(session: Session) -> Row | None:
    row: Row | None = session.db.execute(
        f"{DUE} ORDER BY at, kind, id LIMIT 1", {"now": session.now}
    ).fetchone()
    return row


def _submission(session: Session, submission_id: str) -> None:
    submission = submissions.submission_row(session, submission_id)
    if submission["status"] in submissions.UNFINISHED:
        submissions.end(session, submission, "TIMED-OUT")
    else:
        submissions.approve(session, submission)


def _publication(session: Session, study_id: str) -> None:
    """Without the money the study is a draft again."""
    study = studies.study_row(session, study_id)
    session.db.execute("SAVEPOINT publication")
    try:
        studies.begin_publishing(session, study)
    except ApiError:
        session.db.execute("ROLLBACK TO publication")
        studies.set_status(session, study, "UNPUBLISHED")
    session.db.execute("RELEASE publication")


def _approval(session: Session, seq: int) -> None:
    """What was decided in between stays as it is."""
    session.db.execute("UPDATE bulk_approvals SET done_at = ? WHERE seq = ?", (session.now, seq))
    row = session.row("SELECT submission_id FROM bulk_approvals WHERE seq = ?", seq)
    assert row is not None
    submission = submissions.submission_row(session, row["submission_id"])
    if submission["status"] == "AWAITING REVIEW":
        submissions.approve(session, submission)


_KINDS: Mapping[str, Callable[..., None]] = {
    "submission": _submission,
    "activation": studies.activate,
    "publication": _publication,
    "approval": _approval,
    "bonus": bonuses.pay_run,
}
