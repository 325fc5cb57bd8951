"""MTurk's operations on assignments: what a requester may see and decide."""

import json

from annotation.crowd.emulator.dispatch import (
    DAY,
    Answer,
    Call,
    Operation,
    check_length,
    require_row,
)
from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.state import lifecycle, money
from annotation.crowd.emulator.state.hits import hit_answer, hit_record, kept_hit
from annotation.crowd.wire.session import Row

OVERRIDE_SECONDS = 30 * DAY
FEEDBACK_LENGTH = 1024
SUBMITTED_OR_DECIDED = ("Submitted", "Approved", "Rejected")
TIMES = {
    "AutoApprovalTime": "auto_approval_at",
    "AcceptTime": "accepted_at",
    "SubmitTime": "submitted_at",
    "ApprovalTime": "approved_at",
    "RejectionTime": "rejected_at",
    "Deadline": "deadline",
}


def list_assignments_for_hit(call: Call) -> Answer:
    """Submitted work only, in order of submission."""
    hit = hit_record(call.session, call.parameters["HITId"])
    statuses = json.dumps(
        sorted(set(call.parameters.get("AssignmentStatuses") or SUBMITTED_OR_DECIDED))
    )

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, submit_number AS position FROM assignments"
            " WHERE hit_id = ? AND submit_number > COALESCE(?, 0)"
            " AND status IN (SELECT value FROM json_each(?)) ORDER BY submit_number LIMIT ?",
            (hit["hit_id"], after, statuses, count),
        ).fetchall()

    page = call.page(f"ListAssignmentsForHIT {hit['hit_id']} {statuses}", fetch)
    return page.answer("Assignments", [assignment_answer(row) for row in page.rows])


def get_assignment(call: Call) -> Answer:
    assignment = assignment_record(call)
    require_status(assignment, SUBMITTED_OR_DECIDED)
    hit = hit_record(call.session, assignment["hit_id"])
    return {"Assignment": assignment_answer(assignment), "HIT": hit_answer(hit)}


def approve_assignment(call: Call) -> Answer:
    """Final. A rejection can be overridden within 30 days of the submission."""
    check_length(call, "RequesterFeedback", FEEDBACK_LENGTH)
    assignment = assignment_record(call)
    if _is_overridden(call, assignment):
        hit = kept_hit(call.session, assignment["hit_id"])
        money.hold(call.session, hit, 1)  # the rejection had released it
    else:
        require_status(assignment, ("Submitted",))
    feedback = call.parameters.get("RequesterFeedback")
    lifecycle.approve(call.session, assignment, at=call.session.now, feedback=feedback)
    return {}


def _is_overridden(call: Call, assignment: Row) -> bool:
    if assignment["status"] != "Rejected" or not call.parameters.get("OverrideRejection", False):
        return False
    if call.session.now - assignment["submitted_at"] > OVERRIDE_SECONDS:
        raise RequestError(
            "InvalidAssignmentState",
            f"The rejection of assignment {assignment['assignment_id']} cannot be overridden:"
            " it was submitted more than 30 days ago.",
        )
    return True


def reject_assignment(call: Call) -> Answer:
    """Releases the money; the assignment does not re-open. psiTurk, for one, gives no reason."""
    check_length(call, "RequesterFeedback", FEEDBACK_LENGTH)
    assignment = assignment_record(call)
    require_status(assignment, ("Submitted",))
    assignment_id = assignment["assignment_id"]
    hit = hit_record(call.session, assignment["hit_id"])
    money.release(call.session, hit, 1, assignment_id=assignment_id)
    call.session.db.execute(
        "UPDATE assignments SET status = 'Rejected', rejected_at = ?, feedback = ?"
        " WHERE assignment_id = ?",
        (call.session.now, call.parameters["RequesterFeedback"], assignment_id),
    )
    return {}


def assignment_record(call: Call) -> Row:
    assignment_id = call.parameters["AssignmentId"]
    row = call.session.db.execute(
        "SELECT * FROM assignments WHERE assignment_id = ?", (assignment_id,)
    ).fetchone()
    return require_row(row, "AssignmentDoesNotExist", f"Assignment {assignment_id} does not exist.")


def require_status(assignment: Row, statuses: tuple[str, ...]) -> None:
    if assignment["status"] not in statuses:
        raise RequestError(
            "InvalidAssignmentState",
            f"This operation can be called with a status of: {', '.join(statuses)}."
            f" Assignment {assignment['assignment_id']} is {assignment['status']}.",
        )


def assignment_answer(assignment: Row) -> Answer:
    answer: Answer = {
        "AssignmentId": assignment["assignment_id"],
        "WorkerId": assignment["worker_id"],
        "HITId": assignment["hit_id"],
        "AssignmentStatus": assignment["status"],
        "Answer": assignment["answer"],
    }
    for name, column in TIMES.items():
        if assignment[column] is not None:
            answer[name] = assignment[column]
    if assignment["feedback"] is not None:
        answer["RequesterFeedback"] = assignment["feedback"]
    return answer


OPERATIONS = {
    "ListAssignmentsForHIT": Operation(list_assignments_for_hit, writes=False),
    "GetAssignment": Operation(get_assignment, writes=False),
    "ApproveAssignment": Operation(approve_assignment, writes=True),
    "RejectAssignment": Operation(reject_assignment, writes=True),
}
