"""MTurk's operations on the types of qualifications."""

from typing import Any

from annotation.crowd.emulator.dispatch import (
    DAY,
    Answer,
    Call,
    Operation,
    check_filled,
    check_length,
    check_range,
    require_row,
)
from annotation.crowd.emulator.errors import RequestError, invalid
from annotation.crowd.emulator.ids import new_id
from annotation.crowd.emulator.question.answer_key import read_key
from annotation.crowd.emulator.question.form import read_form
from annotation.crowd.emulator.state.qualifications import HIT_TYPES_THAT_REQUIRE
from annotation.crowd.wire.session import Row

NAME_LENGTH = 200
TEXT_LENGTH = 2000
SETTINGS = {  # what can be changed later: parameter -> column
    "Description": "description",
    "QualificationTypeStatus": "status",
    "RetryDelayInSeconds": "retry_seconds",
    "Test": "test",
    "AnswerKey": "answer_key",
    "TestDurationInSeconds": "test_seconds",
    "AutoGranted": "auto_granted",
    "AutoGrantedValue": "auto_granted_value",
}


def create_qualification_type(call: Call) -> Answer:
    check_filled(call, "Name", "Description")
    check_length(call, "Name", NAME_LENGTH)
    check_length(call, "Keywords", TEXT_LENGTH)
    settings = _settings(call)
    if settings.get("auto_granted") and "test" in settings:
        raise _both()
    _refuse_taken_name(call)
    columns = {
        "qualification_type_id": new_id(),
        "owned": 1,
        "name": call.parameters["Name"],
        "keywords": call.parameters.get("Keywords", ""),
        "created_at": call.session.now,
    } | settings
    call.session.db.execute(
        f"INSERT INTO qualification_types ({', '.join(columns)})"  # noqa: S608 - ours
        f" VALUES ({', '.join(f':{column}' for column in columns)})",
        columns,
    )
    row = type_record(call, columns["qualification_type_id"])
    return {"QualificationType": _type_answer(row)}


def update_qualification_type(call: Call) -> Answer:
    """A new test comes without the old key; a worker at a test goes on with the old one."""
    own = own_type_record(call)
    settings = _settings(call)
    after = dict(own) | settings
    if after["test"] is not None and after["auto_granted"]:
        raise _both()
    columns = ", ".join(f"{column} = :{column}" for column in settings) or "seq = seq"
    call.session.db.execute(
        f"UPDATE qualification_types SET {columns} WHERE seq = :seq",  # noqa: S608 - ours
        after,
    )
    return {"QualificationType": _type_answer(own_type_record(call))}


def _settings(call: Call) -> dict[str, Any]:
    """The columns that the call sets, once they have been checked."""
    check_length(call, "Description", TEXT_LENGTH)
    check_range(call, "RetryDelayInSeconds", 0, 100 * 365 * DAY)
    check_range(call, "TestDurationInSeconds", 1, 365 * DAY)
    given = call.parameters
    if ("Test" in given) != ("TestDurationInSeconds" in given):
        raise invalid("Test and TestDurationInSeconds must be given together.")
    if "AnswerKey" in given and "Test" not in given:
        raise invalid("AnswerKey must be given with the Test that it grades.")
    settings = {column: given[name] for name, column in SETTINGS.items() if name in given}
    if "Test" in given:
        form = read_form(given["Test"], "Test")
        settings.setdefault("answer_key", None)
        if "AnswerKey" in given:
            read_key(given["AnswerKey"], form)
    return settings


def _both() -> RequestError:
    return invalid("A QualificationType with a Test cannot be AutoGranted.")


def _refuse_taken_name(call: Call) -> None:
    name = call.parameters["Name"]
    row = call.session.db.execute(
        "SELECT 1 FROM qualification_types WHERE owned = 1 AND name = ? AND deleted_at IS NULL",
        (name,),
    ).fetchone()
    if row is not None:
        # Dallinger knows the case by these words of MTurk's.
        message = f'You have already created a QualificationType with this name: "{name}".'
        raise RequestError("QualificationTypeAlreadyExists", message)


def delete_qualification_type(call: Call) -> Answer:
    """Its name is free at once; workers keep what they have of it, for HITs that are out."""
    own, now = own_type_record(call), call.session.now
    type_id = own["qualification_type_id"]
    call.session.db.execute(
        "UPDATE qualification_types SET deleted_at = ? WHERE seq = ?", (now, own["seq"])
    )
    call.session.db.execute(
        "UPDATE hit_types SET deleted_at = ?"  # noqa: S608 - ours
        f" WHERE deleted_at IS NULL AND hit_type_id IN ({HIT_TYPES_THAT_REQUIRE})",
        (now, type_id),
    )
    call.session.db.execute(
        "UPDATE qualification_requests SET status = 'Rejected', decided_at = ?,"
        " reason = 'This qualification is offered no more.'"
        " WHERE qualification_type_id = ? AND status IN ('Started', 'Pending')",
        (now, type_id),
    )
    return {}


def get_qualification_type(call: Call) -> Answer:
    row = type_record(call, call.parameters["QualificationTypeId"])
    return {"QualificationType": _type_answer(row)}


def list_qualification_types(call: Call) -> Answer:
    query = call.parameters.get("Query", "").lower()
    # The system's types cannot be requested, so both switches ask for the requester's own.
    owned = call.parameters["MustBeRequestable"] or call.parameters.get("MustBeOwnedByCaller")

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM qualification_types WHERE seq > COALESCE(?, 0)"
            " AND deleted_at IS NULL AND (owned = 1 OR NOT ?)"
            " AND instr(lower(name || ' ' || keywords || ' ' || description), ?) > 0"
            " ORDER BY seq LIMIT ?",
            (after, bool(owned), query, count),
        ).fetchall()

    page = call.page(f"ListQualificationTypes {bool(owned)} {query}", fetch)
    return page.answer("QualificationTypes", [_type_answer(row) for row in page.rows])


def type_record(call: Call, type_id: str) -> Row:
    row = call.session.db.execute(
        "SELECT * FROM qualification_types WHERE qualification_type_id = ? AND deleted_at IS NULL",
        (type_id,),
    ).fetchone()
    message = f"QualificationType {type_id} does not exist."
    return require_row(row, "QualificationTypeDoesNotExist", message)


def own_type_record(call: Call) -> Row:
    row = type_record(call, call.parameters["QualificationTypeId"])
    if not row["owned"]:
        message = f"QualificationType {row['qualification_type_id']} is the system's, not yours."
        raise RequestError("PermissionDeniedException", message)
    return row


def _type_answer(row: Row) -> Answer:
    answer: Answer = {
        "QualificationTypeId": row["qualification_type_id"],
        "CreationTime": row["created_at"],
        "Name": row["name"],
        "Description": row["description"],
        "Keywords": row["keywords"],
        "QualificationTypeStatus": row["status"],
        "IsRequestable": bool(row["owned"]),
        "AutoGranted": bool(row["auto_granted"]),
    }
    if row["auto_granted"]:
        answer["AutoGrantedValue"] = row["auto_granted_value"]
    for name in ("RetryDelayInSeconds", "Test", "AnswerKey", "TestDurationInSeconds"):
        if row[SETTINGS[name]] is not None:
            answer[name] = row[SETTINGS[name]]
    return answer


OPERATIONS = {
    "CreateQualificationType": Operation(create_qualification_type, writes=True),
    "UpdateQualificationType": Operation(update_qualification_type, writes=True),
    "DeleteQualificationType": Operation(delete_qualification_type, writes=True),
    "GetQualificationType": Operation(get_qualification_type, writes=False),
    "ListQualificationTypes": Operation(list_qualification_types, writes=False),
}
