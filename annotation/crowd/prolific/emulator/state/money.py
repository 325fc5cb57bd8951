"""A workspace's wallet: what is available, locked by studies, and paid, with Prolific's fee.

Amounts are integer hundredths of a cent. The fee is a third of what participants get, rounded up,
as of an academic account; VAT on the fee is a reading.
"""

from fractions import Fraction

from annotation.crowd.prolific.emulator.errors import ApiError
from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.prolific.emulator.session import Session
from annotation.crowd.wire.session import Row

CENT = 100


def fee(rewards: int) -> int:
    return -(-rewards // 3)


def tax(rewards: int, readings: Readings) -> int:
    return -(-fee(rewards) * readings.vat_permille // 1000)


def charge(rewards: int, readings: Readings) -> int:
    return rewards + fee(rewards) + tax(rewards, readings)


def in_cents(amount: int) -> int | float:
    """As JSON has it: whole where it is."""
    cents = Fraction(amount, CENT)
    return cents.numerator if cents.denominator == 1 else float(cents)


def deposit(session: Session, workspace_id: str, cents: int) -> None:
    _book(session, "deposit", workspace_id, available=cents * CENT)


def settle(session: Session, study: Row, *, locked: int, paid: int) -> None:
    """Have so much locked and paid for a study, both without fees; ApiError where funds lack."""
    before = study["rewards_paid"], study["rewards_paid"] + study["rewards_locked"]
    after = paid, paid + locked
    readings = session.readings
    newly_paid = charge(after[0], readings) - charge(before[0], readings)
    needed = charge(after[1], readings) - charge(before[1], readings)
    if before == after:
        return
    _require(session, study["workspace_id"], needed)
    _book(
        session,
        "study",
        study["workspace_id"],
        available=-needed,
        locked=needed - newly_paid,
        paid=newly_paid,
        study_id=study["study_id"],
    )
    session.db.execute(
        "UPDATE studies SET rewards_locked = ?, rewards_paid = ? WHERE study_id = ?",
        (locked, paid, study["study_id"]),
    )


def lock_bonus(session: Session, study: Row, bonuses: int) -> None:
    amount = charge(bonuses, session.readings)
    _require(session, study["workspace_id"], amount)
    _book(
        session,
        "bonus",
        study["workspace_id"],
        available=-amount,
        locked=amount,
        study_id=study["study_id"],
    )


def pay_bonus(session: Session, study: Row, bonuses: int) -> None:
    """Out of what `lock_bonus` has locked."""
    amount = charge(bonuses, session.readings)
    _book(
        session,
        "bonus",
        study["workspace_id"],
        locked=-amount,
        paid=amount,
        study_id=study["study_id"],
    )


def _require(session: Session, workspace_id: str, amount: int) -> None:
    available = session.count(
        "SELECT available FROM workspaces WHERE workspace_id = ?", workspace_id
    )
    if amount > available:
        raise ApiError(
            session.readings.no_funds,
            f"This needs {in_cents(amount)} cents and the workspace has {in_cents(available)}:"
            " top up its balance.",
        )


def _book(
    session: Session,
    kind: str,
    workspace_id: str,
    *,
    available: int = 0,
    locked: int = 0,
    paid: int = 0,
    study_id: str | None = None,
) -> None:
    session.insert(
        "money",
        at=session.now,
        kind=kind,
        workspace_id=workspace_id,
        study_id=study_id,
        available=available,
        locked=locked,
        paid=paid,
    )
