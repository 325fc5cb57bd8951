"""MTurk's operations on bonuses: money for a worker besides the reward."""

from annotation.crowd.emulator.dispatch import (
    TOKEN_LIFE,
    Answer,
    Call,
    Operation,
    check_filled,
    token_used,
)
from annotation.crowd.emulator.errors import invalid
from annotation.crowd.emulator.operations.assignments import (
    SUBMITTED_OR_DECIDED,
    assignment_record,
    require_status,
)
from annotation.crowd.emulator.state import money
from annotation.crowd.emulator.state.hits import hit_record
from annotation.crowd.wire.session import Row

MAX_BONUS_CENTS = 1_000_000


def send_bonus(call: Call) -> Answer:
    """A token sent before is refused for 24 hours, whatever else the call says."""
    _refuse_replay(call)
    assignment = assignment_record(call)
    require_status(assignment, SUBMITTED_OR_DECIDED)
    worker_id = call.parameters["WorkerId"]
    if assignment["worker_id"] != worker_id:
        raise invalid(
            f"Assignment {assignment['assignment_id']} is not the work of worker {worker_id}."
        )
    check_filled(call, "Reason")
    bonus = _bonus_cents(call.parameters["BonusAmount"])
    fee = money.bonus_fee_cents(bonus) if money.charges_fees(call.session) else 0
    money.pay_bonus(call.session, assignment, bonus=bonus, fee=fee)
    _insert(call, assignment, bonus, fee)
    return {}


def _refuse_replay(call: Call) -> None:
    token = call.parameters.get("UniqueRequestToken")
    row = call.session.db.execute(
        "SELECT assignment_id, request_id FROM bonuses"
        " WHERE unique_request_token = ? AND granted_at > ?",
        (token, call.session.now - TOKEN_LIFE),
    ).fetchone()
    if row is not None:
        done = f"it paid for assignment {row['assignment_id']} in request {row['request_id']}"
        raise token_used(token, done)


def _bonus_cents(amount: str) -> int:
    bonus = money.cents(amount)
    if not 1 <= bonus <= MAX_BONUS_CENTS:
        most = money.dollars(MAX_BONUS_CENTS)
        raise invalid(f"BonusAmount must be from 0.01 to {most}, not {money.dollars(bonus)}.")
    return bonus


def _insert(call: Call, assignment: Row, bonus: int, fee: int) -> None:
    call.session.db.execute(
        "INSERT INTO bonuses (hit_id, assignment_id, worker_id, cents, fee_cents, reason,"
        " unique_request_token, request_id, granted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            assignment["hit_id"],
            assignment["assignment_id"],
            assignment["worker_id"],
            bonus,
            fee,
            call.parameters["Reason"],
            call.parameters.get("UniqueRequestToken"),
            call.request_id,
            call.session.now,
        ),
    )


def list_bonus_payments(call: Call) -> Answer:
    """Of one HIT or of one assignment, in the order in which they were paid."""
    hit_id, assignment_id = (call.parameters.get(name) for name in ("HITId", "AssignmentId"))
    if (hit_id is None) == (assignment_id is None):
        raise invalid("Exactly one of HITId and AssignmentId must be given.")
    if assignment_id is None:
        column, value = "hit_id", hit_record(call.session, str(hit_id))["hit_id"]
    else:
        column, value = "assignment_id", assignment_record(call)["assignment_id"]

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            f"SELECT *, seq AS position FROM bonuses WHERE {column} = ?"  # noqa: S608 - ours
            " AND seq > COALESCE(?, 0) ORDER BY seq LIMIT ?",
            (value, after, count),
        ).fetchall()

    page = call.page(f"ListBonusPayments {column} {value}", fetch)
    return page.answer("BonusPayments", [_bonus_answer(row) for row in page.rows])


def _bonus_answer(row: Row) -> Answer:
    return {
        "WorkerId": row["worker_id"],
        "BonusAmount": money.dollars(row["cents"]),
        "AssignmentId": row["assignment_id"],
        "Reason": row["reason"],
        "GrantTime": row["granted_at"],
    }


OPERATIONS = {
    "SendBonus": Operation(send_bonus, writes=True),
    "ListBonusPayments": Operation(list_bonus_payments, writes=False),
}
