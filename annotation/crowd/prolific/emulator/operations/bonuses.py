"""Bonus payments, in the two steps that Prolific has."""

import re

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import ApiError, invalid
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.state import bonuses, money, studies

LINE = re.compile(r"([a-f0-9]{24}),([0-9]{1,6})(?:\.([0-9]{1,2}))?")


def set_up(call: Call) -> Reply:
    fields = Fields(call.body)
    study_id = fields.text("study_id", required=True)
    text = fields.text("csv_bonuses", required=True) or ""
    fields.check()
    study = studies.study_row(call.session, study_id)
    amounts = [_line(line) for line in text.split("\n") if line.strip()]
    items = [(_submission(call, study["study_id"], key), cents) for key, cents in amounts]
    if missing := [key for (key, _), (it, _) in zip(amounts, items, strict=True) if it is None]:
        raise ApiError(400, [f"{key} did not take part in this study." for key in missing])
    taken = [(it, cents) for it, cents in items if it is not None]
    bulk_id = bonuses.set_up(call.session, study["study_id"], taken)
    amount = bonuses.total(call.session, bulk_id)
    answer = {
        "id": bulk_id,
        "study": study["study_id"],
        "amount": money.in_cents(amount),
        "fees": money.in_cents(money.fee(amount)),
        "vat": money.in_cents(money.tax(amount, call.session.readings)),
        "total_amount": money.in_cents(money.charge(amount, call.session.readings)),
    }
    return Reply(answer, 201)


def _line(line: str) -> tuple[str, int]:
    """An id, and cents of an amount in major units."""
    match = LINE.fullmatch(line.strip())
    cents = int(match[2]) * 100 + int((match[3] or "").ljust(2, "0")) if match else 0
    if match is None or not cents:
        raise invalid("csv_bonuses", f"{ascii(line)[:60]} is not an id, a comma and an amount.")
    return match[1], cents


def _submission(call: Call, study_id: str, key: str) -> str | None:
    """By its own id, or the last one of a participant."""
    row = call.session.row(
        "SELECT submission_id FROM submissions WHERE study_id = ?"
        " AND (submission_id = ? OR participant_id = ?) ORDER BY seq DESC",
        study_id,
        key,
        key,
    )
    return row["submission_id"] if row else None


def pay(call: Call, bulk_id: str) -> Reply:
    """Each call pays: this is not idempotent, as documented."""
    bonuses.order_payment(call.session, bonuses.bulk_row(call.session, bulk_id))
    return Reply("Payment is being processed.", 202)


OPERATIONS = (
    Operation("POST", "/submissions/bonus-payments/", set_up),
    Operation("POST", "/bulk-bonus-payments/<bulk_id>/pay/", pay),
)
