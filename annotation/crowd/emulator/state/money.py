"""The requester's account: MTurk's fees, funds on hold, payments. All in integer cents."""

from decimal import Decimal

from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.wire.session import Row, Session

BASE_PERCENT = 20
MASTERS_PERCENT = 5
MANY_PERCENT = 20
MANY_ASSIGNMENTS = 10


def cents(amount: str) -> int:
    """Of an amount that matches the service model's pattern: 0.15, 3, 12.5."""
    return int(Decimal(amount) * 100)


def dollars(amount: int) -> str:
    return f"{amount // 100}.{amount % 100:02d}"


def charges_fees(session: Session) -> bool:
    """Not where the workers are the requesters' own people."""
    row = session.db.execute("SELECT value FROM meta WHERE name = 'fees'").fetchone()
    return row is None or row[0] != "0"


def fee_cents(reward: int, *, masters: bool, assignments: int) -> int:
    """MTurk's fee for one assignment: each part rounded half up, and at least one cent."""
    parts = [BASE_PERCENT]
    if masters:
        parts.append(MASTERS_PERCENT)
    if assignments >= MANY_ASSIGNMENTS:
        parts.append(MANY_PERCENT)
    return sum(_part(reward, percent) for percent in parts)


def bonus_fee_cents(bonus: int) -> int:
    return _part(bonus, BASE_PERCENT)


def _part(amount: int, percent: int) -> int:
    return max(1, (amount * percent + 50) // 100)


def balance(session: Session) -> Row:
    """available, on_hold, spent."""
    row: Row = session.db.execute("SELECT available, on_hold, spent FROM account").fetchone()
    return row


def deposit(session: Session, amount: int) -> None:
    _book(session, "deposit", available=amount)


def hold(session: Session, hit: Row, assignments: int) -> None:
    """Put the price of `assignments` on hold, or raise InsufficientFunds."""
    amount = assignments * _price(hit)
    _require(session, amount)
    _book(session, "hold", available=-amount, on_hold=amount, hit_id=hit["hit_id"])


def release(
    session: Session, hit: Row, assignments: int, *, assignment_id: str | None = None
) -> None:
    amount = assignments * _price(hit)
    _book(
        session,
        "release",
        available=amount,
        on_hold=-amount,
        hit_id=hit["hit_id"],
        assignment_id=assignment_id,
    )


def pay(session: Session, hit: Row, assignment_id: str) -> None:
    """Pay the worker the reward and MTurk its fee, both out of what is on hold."""
    for kind in ("reward", "fee"):
        amount = hit[f"{kind}_cents"]
        _book(
            session,
            kind,
            on_hold=-amount,
            spent=amount,
            hit_id=hit["hit_id"],
            assignment_id=assignment_id,
        )


def pay_bonus(session: Session, assignment: Row, *, bonus: int, fee: int) -> None:
    """Out of what is available, for no open assignment holds it; or raise InsufficientFunds."""
    _require(session, bonus + fee)
    for kind, amount in (("bonus", bonus), ("bonus_fee", fee)):
        _book(
            session,
            kind,
            available=-amount,
            spent=amount,
            hit_id=assignment["hit_id"],
            assignment_id=assignment["assignment_id"],
        )


def _price(hit: Row) -> int:
    price: int = hit["reward_cents"] + hit["fee_cents"]
    return price


def _require(session: Session, amount: int) -> None:
    available = balance(session)["available"]
    if available < amount:
        raise RequestError(
            "InsufficientFunds",
            "This Requester has insufficient funds for this transaction: it needs "
            f"{dollars(amount)} and {dollars(available)} is available.",
        )


def _book(
    session: Session,
    kind: str,
    *,
    available: int = 0,
    on_hold: int = 0,
    spent: int = 0,
    hit_id: str | None = None,
    assignment_id: str | None = None,
) -> None:
    session.db.execute(
        "INSERT INTO money (at, kind, hit_id, assignment_id, available, on_hold, spent)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session.now, kind, hit_id, assignment_id, available, on_hold, spent),
    )
