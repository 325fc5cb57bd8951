"""Submissions as the researcher lists and reads them."""

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import invalid
from annotation.crowd.prolific.emulator.pagination import by_offset, by_page
from annotation.crowd.prolific.emulator.session import iso
from annotation.crowd.prolific.emulator.state import studies
from annotation.crowd.prolific.emulator.state.submissions import submission_row
from annotation.crowd.wire.session import Row

ORDERS = {
    "started_at": "started_at",
    "completed_at": "completed_at",
    "status": "status",
    "participant_id": "participant_id",
    "study_code": "entered_code",
}
SHOWN = (
    "ACTIVE", "APPROVED", "AWAITING REVIEW", "REJECTED", "RESERVED", "RETURNED", "TIMED-OUT",
    "PARTIALLY APPROVED", "SCREENED OUT",
)  # fmt: skip


def list_submissions(call: Call) -> Reply:
    """By `page`, of the study that the query names."""
    study_id = call.query.get("study")
    if study_id is None:
        raise invalid("study", "This field is required.")
    studies.study_row(call.session, study_id)
    query, values = _query(call, study_id)
    return by_page(call, query, values, lambda row: _short(call, row))


def list_of_study(call: Call, study_id: str) -> Reply:
    """By `offset`."""
    studies.study_row(call.session, study_id)
    query, values = _query(call, study_id)
    return by_offset(call, query, values, lambda row: _short(call, row))


def _query(call: Call, study_id: str) -> tuple[str, tuple[object, ...]]:
    query, values = "SELECT * FROM submissions WHERE study_id = ?", [study_id]
    if status := call.query.get("status"):
        query += " AND status = ?"
        values.append(_status(status))
    order = call.query.get("ordering", "")
    column = ORDERS.get(order.removeprefix("-"), "seq")
    return f"{query} ORDER BY {column}{' DESC' * order.startswith('-')}, seq", tuple(values)


def _status(text: str) -> str:
    """In any case, with underscores for what joins the words."""
    words = text.upper().replace("_", " ").replace("-", " ")
    return "TIMED-OUT" if words == "TIMED OUT" else words


def get_counts(call: Call, study_id: str) -> Reply:
    studies.study_row(call.session, study_id)
    counted = studies.counts(call.session, study_id)
    return Reply({**{it: counted[it] for it in SHOWN}, "TOTAL": counted.total()})


def get_submission(call: Call, submission_id: str) -> Reply:
    return Reply(submission_answer(call, submission_id))


def submission_answer(call: Call, submission_id: str) -> dict[str, object]:
    row = submission_row(call.session, submission_id)
    return {
        "id": row["submission_id"],
        "study_id": row["study_id"],
        "participant": row["participant_id"],
        "status": row["status"],
        "started_at": iso(row["started_at"]),
        "completed_at": iso(row["completed_at"]),
        "entered_code": row["entered_code"],
        "parent_study_id": None,
        "bonus_payments": _bonuses(call, row),
        "return_requested": iso(row["return_requested"]),
    }


def _short(call: Call, row: Row) -> dict[str, object]:
    return {
        "id": row["submission_id"],
        "participant_id": row["participant_id"],
        "status": row["status"],
        "started_at": iso(row["started_at"]),
        "completed_at": iso(row["completed_at"]),
        "has_siblings": False,
        "study_code": row["entered_code"],
        "return_requested": iso(row["return_requested"]),
        "bonus_payments": _bonuses(call, row),
    }


def _bonuses(call: Call, row: Row) -> list[int]:
    """In cents."""
    paid = call.session.rows(
        "SELECT cents FROM payments WHERE submission_id = ? AND kind = 'bonus' ORDER BY seq",
        row["submission_id"],
    )
    return [it["cents"] for it in paid]


OPERATIONS = (
    Operation("GET", "/submissions/", list_submissions, bare=True),
    Operation("GET", "/studies/<study_id>/submissions/", list_of_study, bare=True),
    Operation("GET", "/studies/<study_id>/submissions/counts/", get_counts, bare=True),
    Operation("GET", "/submissions/<submission_id>/", get_submission),
)
