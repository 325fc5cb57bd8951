"""MTurk's operations on qualification types and on the qualifications of workers."""

from annotation.crowd.emulator.dispatch import (
    Answer,
    Call,
    Operation,
    check_length,
    check_range,
    require_row,
)
from annotation.crowd.emulator.errors import RequestError, unsupported
from annotation.crowd.emulator.ids import new_id
from annotation.crowd.wire.session import Row

NAME_LENGTH = 200
TEXT_LENGTH = 2000


def create_qualification_type(call: Call) -> Answer:
    for name in ("Test", "AnswerKey", "TestDurationInSeconds", "AutoGranted", "AutoGrantedValue"):
        if call.parameters.get(name):
            raise unsupported(f"{name} of a QualificationType")
    check_length(call, "Name", NAME_LENGTH)
    check_length(call, "Description", TEXT_LENGTH)
    check_length(call, "Keywords", TEXT_LENGTH)
    check_range(call, "RetryDelayInSeconds", 0, 1 << 40)
    _refuse_taken_name(call)
    type_id = new_id()
    call.session.db.execute(
        "INSERT INTO qualification_types (qualification_type_id, owned, name, keywords,"
        " description, status, retry_seconds, created_at) VALUES (?, 1, ?, ?, ?, ?, ?, ?)",
        (
            type_id,
            call.parameters["Name"],
            call.parameters.get("Keywords", ""),
            call.parameters["Description"],
            call.parameters["QualificationTypeStatus"],
            call.parameters.get("RetryDelayInSeconds"),
            call.session.now,
        ),
    )
    return {"QualificationType": _type_answer(_type(call, type_id))}


def _refuse_taken_name(call: Call) -> None:
    name = call.parameters["Name"]
    row = call.session.db.execute(
        "SELECT 1 FROM qualification_types WHERE owned = 1 AND name = ?", (name,)
    ).fetchone()
    if row is not None:
        message = f'You have a QualificationType named "{name}" already; names must be unique.'
        raise RequestError("QualificationTypeAlreadyExists", message)


def get_qualification_type(call: Call) -> Answer:
    row = _type(call, call.parameters["QualificationTypeId"])
    return {"QualificationType": _type_answer(row)}


def list_qualification_types(call: Call) -> Answer:
    query = call.parameters.get("Query", "").lower()
    # The system's types cannot be requested, so both switches ask for the requester's own.
    owned = call.parameters["MustBeRequestable"] or call.parameters.get("MustBeOwnedByCaller")

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM qualification_types WHERE seq > COALESCE(?, 0)"
            " AND (owned = 1 OR NOT ?)"
            " AND instr(lower(name || ' ' || keywords || ' ' || description), ?) > 0"
            " ORDER BY seq LIMIT ?",
            (after, bool(owned), query, count),
        ).fetchall()

    page = call.page(f"ListQualificationTypes {bool(owned)} {query}", fetch)
    return page.answer("QualificationTypes", [_type_answer(row) for row in page.rows])


def associate_qualification(call: Call) -> Answer:
    """Gives a worker the qualification, or a new value of it."""
    own = _own_type(call)
    worker_id = call.parameters["WorkerId"]
    row = call.session.db.execute(
        "SELECT 1 FROM workers WHERE worker_id = ?", (worker_id,)
    ).fetchone()
    require_row(row, "WorkerDoesNotExist", f"Worker {worker_id} does not exist.")
    call.session.db.execute(
        "INSERT INTO qualifications (qualification_type_id, worker_id, value, status, granted_at)"
        " VALUES (?, ?, ?, 'Granted', ?)"
        " ON CONFLICT (qualification_type_id, worker_id) DO UPDATE SET"
        " value = excluded.value, status = 'Granted', granted_at = excluded.granted_at,"
        " reason = NULL",
        (
            own["qualification_type_id"],
            worker_id,
            call.parameters.get("IntegerValue", 1),
            call.session.now,
        ),
    )
    return {}


def disassociate_qualification(call: Call) -> Answer:
    held = _held(call)
    call.session.db.execute(
        "UPDATE qualifications SET status = 'Revoked', reason = ? WHERE seq = ?",
        (call.parameters.get("Reason"), held["seq"]),
    )
    return {}


def get_qualification_score(call: Call) -> Answer:
    return {"Qualification": _qualification_answer(_held(call))}


def list_workers_with_qualification_type(call: Call) -> Answer:
    type_id = _own_type(call)["qualification_type_id"]
    status = call.parameters.get("Status", "Granted")

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM qualifications WHERE qualification_type_id = ?"
            " AND status = ? AND seq > COALESCE(?, 0) ORDER BY seq LIMIT ?",
            (type_id, status, after, count),
        ).fetchall()

    page = call.page(f"ListWorkersWithQualificationType {type_id} {status}", fetch)
    return page.answer("Qualifications", [_qualification_answer(row) for row in page.rows])


def _type(call: Call, type_id: str) -> Row:
    row = call.session.db.execute(
        "SELECT * FROM qualification_types WHERE qualification_type_id = ?", (type_id,)
    ).fetchone()
    message = f"QualificationType {type_id} does not exist."
    return require_row(row, "QualificationTypeDoesNotExist", message)


def _own_type(call: Call) -> Row:
    row = _type(call, call.parameters["QualificationTypeId"])
    if not row["owned"]:
        message = f"QualificationType {row['qualification_type_id']} is the system's, not yours."
        raise RequestError("PermissionDeniedException", message)
    return row


def _held(call: Call) -> Row:
    type_id = _own_type(call)["qualification_type_id"]
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


def _type_answer(row: Row) -> Answer:
    answer: Answer = {
        "QualificationTypeId": row["qualification_type_id"],
        "CreationTime": row["created_at"],
        "Name": row["name"],
        "Description": row["description"],
        "Keywords": row["keywords"],
        "QualificationTypeStatus": row["status"],
        "IsRequestable": bool(row["owned"]),
        "AutoGranted": False,
    }
    if row["retry_seconds"] is not None:
        answer["RetryDelayInSeconds"] = row["retry_seconds"]
    return answer


def _qualification_answer(row: Row) -> Answer:
    return {
        "QualificationTypeId": row["qualification_type_id"],
        "WorkerId": row["worker_id"],
        "GrantTime": row["granted_at"],
        "IntegerValue": row["value"],
        "Status": row["status"],
    }


OPERATIONS = {
    "CreateQualificationType": Operation(create_qualification_type, writes=True),
    "GetQualificationType": Operation(get_qualification_type, writes=False),
    "ListQualificationTypes": Operation(list_qualification_types, writes=False),
    "AssociateQualificationWithWorker": Operation(associate_qualification, writes=True),
    "DisassociateQualificationFromWorker": Operation(disassociate_qualification, writes=True),
    "GetQualificationScore": Operation(get_qualification_score, writes=False),
    "ListWorkersWithQualificationType": Operation(
        list_workers_with_qualification_type, writes=False
    ),
}
