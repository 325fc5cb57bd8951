"""A study: its places, its status, and the money that it locks."""

from collections import Counter
from typing import Any

from annotation.crowd.prolific.emulator.errors import unknown
from annotation.crowd.prolific.emulator.session import Session, load
from annotation.crowd.prolific.emulator.state import events, money
from annotation.crowd.wire.session import Row

OPEN = ("PUBLISHING", "ACTIVE", "PAUSED")
RUNNING = ("RESERVED", "ACTIVE")
PAID = ("APPROVED", "PARTIALLY APPROVED")
TAKING = (*RUNNING, "AWAITING REVIEW", *PAID)  # as the view `taken_places` has it
SCREEN_OUT = "FIXED_SCREEN_OUT_PAYMENT"


def study_row(session: Session, study_id: object) -> Row:
    row = session.row(
        "SELECT s.*, p.workspace_id, w.currency FROM studies s JOIN projects p USING (project_id)"
        " JOIN workspaces w USING (workspace_id) WHERE s.study_id = ?",
        study_id,
    )
    if row is None:
        raise unknown("study", study_id)
    return row


def counts(session: Session, study_id: str) -> Counter[str]:
    """Submissions by status."""
    rows = session.rows(
        "SELECT status, COUNT(*) AS number FROM submissions WHERE study_id = ? GROUP BY status",
        study_id,
    )
    return Counter({row["status"]: row["number"] for row in rows})


def free_places(study: Row, counted: Counter[str]) -> int:
    return int(study["total_places"]) - sum(counted[status] for status in TAKING)


def completion_codes(study: Row) -> list[dict[str, Any]]:
    codes: list[dict[str, Any]] = load(study["fields"])["completion_codes"]
    return codes


def screen_out(study: Row) -> dict[str, Any] | None:
    """The action of the one code that screens participants out for a fixed payment."""
    for code in completion_codes(study):
        for action in code["actions"]:
            if action["action"] == SCREEN_OUT:
                return dict(action)
    return None


def slots_left(study: Row, counted: Counter[str]) -> int:
    action = screen_out(study)
    return action["slots"] - counted["SCREENED OUT"] if action else 0


def set_status(session: Session, study: Row, status: str) -> None:
    if study["status"] == status:
        return
    session.db.execute(
        "UPDATE studies SET status = ? WHERE study_id = ?", (status, study["study_id"])
    )
    events.emit(
        session,
        events.STUDY_STATUS,
        study["workspace_id"],
        study["study_id"],
        metadata={},
        status=status,
    )


def refresh(session: Session, study_id: str) -> None:
    """What follows from the submissions: the study's status, and what is locked and paid."""
    study = study_row(session, study_id)
    counted = counts(session, study_id)
    following = _following(study, counted)
    set_status(session, study, following)
    money.settle(
        session,
        study,
        locked=_locked(study, following, counted),
        paid=money.CENT
        * session.count(
            "SELECT COALESCE(SUM(p.cents), 0) FROM payments p JOIN submissions s"
            " USING (submission_id) WHERE s.study_id = ? AND p.kind <> 'bonus'",
            study_id,
        ),
    )


def _following(study: Row, counted: Counter[str]) -> str:
    status: str = study["status"]
    at_work = sum(counted[it] for it in RUNNING)
    full = free_places(study, counted) <= 0
    if status in ("ACTIVE", "PAUSED") and full and not at_work:
        return "AWAITING REVIEW" if counted["AWAITING REVIEW"] else "COMPLETED"
    if status == "AWAITING REVIEW" and not at_work and not counted["AWAITING REVIEW"]:
        return "COMPLETED"
    if status == "ACTIVE" and counted["SCREENED OUT"] and slots_left(study, counted) <= 0:
        return "PAUSED"
    return status


def _locked(study: Row, status: str, counted: Counter[str]) -> int:
    """Without fees: a reward for each place that may still be paid, and the open slots."""
    reward: int = study["reward_cents"]
    if status in OPEN:
        places = study["total_places"] - sum(counted[it] for it in PAID)
        action = screen_out(study)
        slots = max(slots_left(study, counted), 0)
        screening = slots * action["fixed_screen_out_reward"] if action else 0
        return money.CENT * int(places * reward + screening)
    if status in ("UNPUBLISHED", "SCHEDULED"):
        return 0
    return money.CENT * reward * sum(counted[it] for it in (*RUNNING, "AWAITING REVIEW"))


def reopen_for(session: Session, study_id: str) -> None:
    """After a rejection or a return, the place of a full study is free, by one of the readings."""
    study = study_row(session, study_id)
    if study["status"] == "AWAITING REVIEW" and not study["stopped"]:
        set_status(session, study, session.readings.rejection_when_full)


def begin_publishing(session: Session, study: Row) -> None:
    """Locks the money; ApiError where it lacks."""
    set_status(session, study, "PUBLISHING")
    session.db.execute(
        "UPDATE studies SET published_at = ?, active_at = ?, publish_at = NULL WHERE study_id = ?",
        (session.now, session.now + session.readings.publishing_seconds, study["study_id"]),
    )
    refresh(session, study["study_id"])
    if not session.readings.publishing_seconds:
        activate(session, study["study_id"])


def activate(session: Session, study_id: str) -> None:
    session.db.execute("UPDATE studies SET active_at = NULL WHERE study_id = ?", (study_id,))
    set_status(session, study_row(session, study_id), "ACTIVE")
