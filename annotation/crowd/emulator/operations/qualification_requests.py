"""MTurk's operations on requests of workers for a qualification that wait for the requester."""

from annotation.crowd.emulator.dispatch import Answer, Call, Operation, check_length, require_row
from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.operations.qualification_types import own_type_record
from annotation.crowd.emulator.state.qualifications import grant
from annotation.crowd.wire.session import Row

REASON_LENGTH = 1024


def list_qualification_requests(call: Call) -> Answer:
    """Of one type or of all, in the order in which they were made."""
    type_id = call.parameters.get("QualificationTypeId")
    if type_id is not None:
        own_type_record(call)

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM qualification_requests WHERE status = 'Pending'"
            " AND seq > COALESCE(:after, 0)"
            " AND (:type IS NULL OR qualification_type_id = :type) ORDER BY seq LIMIT :count",
            {"after": after, "type": type_id, "count": count},
        ).fetchall()

    page = call.page(f"ListQualificationRequests {type_id}", fetch)
    return page.answer("QualificationRequests", [_request_answer(row) for row in page.rows])


def accept_qualification_request(call: Call) -> Answer:
    pending = _decide(call, "Granted", reason=None)
    value = call.parameters.get("IntegerValue", 1)
    grant(call.session, pending["qualification_type_id"], pending["worker_id"], value)
    return {}


def reject_qualification_request(call: Call) -> Answer:
    check_length(call, "Reason", REASON_LENGTH)
    _decide(call, "Rejected", reason=call.parameters.get("Reason"))
    return {}


def _decide(call: Call, status: str, *, reason: str | None) -> Row:
    """The request as it was."""
    request_id = call.parameters["QualificationRequestId"]
    row = call.session.db.execute(
        "SELECT * FROM qualification_requests"
        " WHERE qualification_request_id = ? AND status NOT IN ('Started', 'Abandoned')",
        (request_id,),
    ).fetchone()
    message = f"QualificationRequest {request_id} does not exist."
    pending = require_row(row, "QualificationRequestDoesNotExist", message)
    if pending["status"] != "Pending":
        raise RequestError(
            "InvalidQualificationRequestState",
            "This operation can be called with a status of: Pending."
            f" QualificationRequest {request_id} is {pending['status']}.",
        )
    call.session.db.execute(
        "UPDATE qualification_requests SET status = ?, decided_at = ?, reason = ? WHERE seq = ?",
        (status, call.session.now, reason, pending["seq"]),
    )
    return pending


def _request_answer(row: Row) -> Answer:
    answer: Answer = {
        "QualificationRequestId": row["qualification_request_id"],
        "QualificationTypeId": row["qualification_type_id"],
        "WorkerId": row["worker_id"],
        "SubmitTime": row["submitted_at"],
    }
    if row["test"] is not None:
        answer |= {"Test": row["test"], "Answer": row["answer"]}
    return answer


OPERATIONS = {
    "ListQualificationRequests": Operation(list_qualification_requests, writes=False),
    "AcceptQualificationRequest": Operation(accept_qualification_request, writes=True),
    "RejectQualificationRequest": Operation(reject_qualification_request, writes=True),
}
