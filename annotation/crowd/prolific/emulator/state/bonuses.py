"""Bonus payments: set up in bulk, then paid once for each call that says so."""

from collections.abc import Sequence

from annotation.crowd.prolific.emulator.errors import unknown
from annotation.crowd.prolific.emulator.session import Session, new_id
from annotation.crowd.prolific.emulator.state import money, studies
from annotation.crowd.wire.session import Row


def set_up(session: Session, study_id: str, items: Sequence[tuple[str, int]]) -> str:
    """`items`: submissions and cents. Nothing is paid yet."""
    bulk_id = new_id()
    session.insert("bulk_bonuses", bulk_id=bulk_id, study_id=study_id, created_at=session.now)
    for submission_id, cents in items:
        session.insert(
            "bulk_bonus_items", bulk_id=bulk_id, submission_id=submission_id, cents=cents
        )
    return bulk_id


def bulk_row(session: Session, bulk_id: object) -> Row:
    row = session.row("SELECT * FROM bulk_bonuses WHERE bulk_id = ?", bulk_id)
    if row is None:
        raise unknown("bulk bonus payment", bulk_id)
    return row


def total(session: Session, bulk_id: str) -> int:
    """In hundredths of a cent, without the fee."""
    return money.CENT * session.count(
        "SELECT COALESCE(SUM(cents), 0) FROM bulk_bonus_items WHERE bulk_id = ?", bulk_id
    )


def order_payment(session: Session, bulk: Row) -> None:
    """Each call is another payment, whatever was paid before."""
    study = studies.study_row(session, bulk["study_id"])
    money.lock_bonus(session, study, total(session, bulk["bulk_id"]))
    session.insert(
        "bonus_runs",
        bulk_id=bulk["bulk_id"],
        due_at=session.now + session.readings.asynchronous_seconds,
    )


def pay_run(session: Session, seq: int) -> None:
    run = session.row("SELECT bulk_id FROM bonus_runs WHERE seq = ?", seq)
    assert run is not None
    bulk = bulk_row(session, run["bulk_id"])
    study = studies.study_row(session, bulk["study_id"])
    money.pay_bonus(session, study, total(session, bulk["bulk_id"]))
    for item in session.rows(
        "SELECT submission_id, cents FROM bulk_bonus_items WHERE bulk_id = ? ORDER BY seq",
        bulk["bulk_id"],
    ):
        session.insert(
            "payments",
            submission_id=item["submission_id"],
            kind="bonus",
            cents=item["cents"],
            at=session.now,
        )
    session.db.execute("UPDATE bonus_runs SET paid_at = ? WHERE seq = ?", (session.now, seq))
