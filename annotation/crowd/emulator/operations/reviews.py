"""MTurk's operations for requesters who look through the HITs that are done."""

from annotation.crowd.emulator.dispatch import Answer, Call, Operation
from annotation.crowd.emulator.errors import unsupported
from annotation.crowd.emulator.operations.assignments import assignment_record
from annotation.crowd.emulator.operations.hits import hit_page
from annotation.crowd.emulator.state.hits import hit_record, invalid_state, kept_hit


def list_reviewable_hits(call: Call) -> Answer:
    status = call.parameters.get("Status", "Reviewable")
    type_id = call.parameters.get("HITTypeId")
    if type_id is None:
        return hit_page(call, "status = ?", status)
    return hit_page(call, "status = ? AND hit_type_id = ?", status, type_id)


def update_hit_review_status(call: Call) -> Answer:
    hit = kept_hit(call.session, call.parameters["HITId"])
    revert = call.parameters.get("Revert", False)
    wanted = "Reviewing" if revert else "Reviewable"
    if hit["status"] != wanted:
        raise invalid_state(hit, wanted)
    call.session.db.execute(
        "UPDATE hits SET reviewing = ? WHERE hit_id = ?", (not revert, hit["hit_id"])
    )
    return {}


def list_review_policy_results(call: Call) -> Answer:
    """No HIT has a policy: those that name one are refused."""
    return {"HITId": hit_record(call.session, call.parameters["HITId"])["hit_id"]}


def get_file_upload_url(call: Call) -> Answer:
    """No answer is a file: forms that ask for one are refused, as they are at MTurk since 2017."""
    assignment_record(call)
    raise unsupported("FileUploadAnswer, the only answer with a file,")


OPERATIONS = {
    "ListReviewableHITs": Operation(list_reviewable_hits, writes=False),
    "UpdateHITReviewStatus": Operation(update_hit_review_status, writes=True),
    "ListReviewPolicyResultsForHIT": Operation(list_review_policy_results, writes=False),
    "GetFileUploadURL": Operation(get_file_upload_url, writes=False),
}
