"""MTurk's operations on the qualifications of workers."""

from annotation.crowd.emulator.dispatch import Answer, Call, Operation, require_row
from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.operations.qualification_types import own_type_record
from annotation.crowd.emulator.operations.workers import require_worker, write_to
from annotation.crowd.emulator.state.qualifications import grant
from annotation.crowd.wire.session import Row


def associate_qualification(call: Call) -> Answer:
    """Gives a worker the qualification, or a new value of it, and says so unless it is not to."""
    own = own_type_record(call)
    worker_id = call.parameters["WorkerId"]
    require_worker(call, worker_id)
    value = call.parameters.get("IntegerValue", 1)
    grant(call.session, own["qualification_type_id"], worker_id, value)
    if call.parameters.get("SendNotification", True):
        write_to(
            call,
            worker_id,
            subject=f"You have the qualification {own['name']}",
            text=f"Your value: {value}. {own['description']}",
        )
    return {}


def disassociate_qualification(call: Call) -> Answer:
    """The worker reads the reason, where there is one."""
    own, held, reason = own_type_record(call), _held(call), call.parameters.get("Reason")
    call.session.db.execute(
        "UPDATE qualifications SET status = 'Revoked', reason = ? WHERE seq = ?",
        (reason, held["seq"]),
    )
    if reason:
        subject = f"You no longer have the qualification {own['name']}"
        write_to(call, held["worker_id"], subject=subject, text=reason)
    return {}


def get_qualification_score(call: Call) -> Answer:
    return {"Qualification": _qualification_answer(_held(call))}


def list_workers_with_qualification_type(call: Call) -> Answer:
    type_id = own_type_record(call)["qualification_type_id"]
    status = call.parameters.get("Status", "Granted")

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM qualifications WHERE qualification_type_id = ?"
            " AND status = ? AND seq > COALESCE(?, 0) ORDER BY seq LIMIT ?",
            (type_id, status, after, count),
        ).fetchall()

    page = call.page(f"ListWorkersWithQualificationType {type_id} {status}", fetch)
    return page.answer("Qualifications", [_qualification_answer(row) for row in page.rows])


def _held(call: Call) -> Row:
    type_id = own_type_record(call)["qualification_type_id"]
    worker_id = call.parameters["WorkerId"]
    row = call.session.db.execute(
        "SELECT * FROM qualifications WHERE qualification_type_id = ? AND worker_id = ?",
        (type_id, worker_id),
    ).fetchone()
    message = f"Worker {worker_id} has no qualification of type {type_id}."
    held = require_row(row, "QualificationDoesNotExist", message)
    if held["status"] != "Granted":
        raise RequestError(
            "InvalidQualificationState",
            "This operation can be called with a status of: Granted."
            f" The qualification of worker {worker_id} is {held['status']}.",
        )
    return held


def _qualification_answer(row: Row) -> Answer:
    return {
        "QualificationTypeId": row["qualification_type_id"],
        "WorkerId": row["worker_id"],
        "GrantTime": row["granted_at"],
        "IntegerValue": row["value"],
        "Status": row["status"],
    }


OPERATIONS = {
    "AssociateQualificationWithWorker": Operation(associate_qualification, writes=True),
    "DisassociateQualificationFromWorker": Operation(disassociate_qualification, writes=True),
    "GetQualificationScore": Operation(get_qualification_score, writes=False),
    "ListWorkersWithQualificationType": Operation(
        list_workers_with_qualification_type, writes=False
    ),
}
