"""What a researcher decides about submissions."""

from collections.abc import Callable, Mapping

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import ApiError, invalid
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.operations.submissions import submission_answer
from annotation.crowd.prolific.emulator.state import completion, studies, submissions
from annotation.crowd.wire.session import Row

LEAST_MESSAGE = 100  # characters of a rejection
CATEGORIES = (
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK",
    "LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
)  # fmt: skip
PERCENTAGES = (8, 99)
RETURNABLE = ("ACTIVE", "AWAITING REVIEW")


def move(call: Call, submission_id: str) -> Reply:
    """The same action a second time is ignored."""
    fields = Fields(call.body)
    action = fields.choice("action", ACTIONS, required=True)
    fields.check()
    submission = submissions.submission_row(call.session, submission_id)
    ACTIONS[action or ""](call, submission)
    return Reply(submission_answer(call, submission_id))


def _approve(call: Call, submission: Row) -> None:
    status = submission["status"]
    if status == "APPROVED":
        return
    if status in ("TIMED-OUT", "RETURNED") and call.session.readings.approve_ended:
        _check_place(call, submission)
    elif status != "AWAITING REVIEW":
        raise _illegal(call, submission)
    submissions.approve(call.session, submission)


def _reject(call: Call, submission: Row) -> None:
    fields = Fields(call.body)
    message = fields.text("message", required=True) or ""
    category = fields.choice("rejection_category", CATEGORIES, required=True) or ""
    if len(message) < LEAST_MESSAGE:
        fields.refuse("message", f"Ensure this field has at least {LEAST_MESSAGE} characters.")
    fields.check()
    if submission["status"] == "REJECTED":
        return
    if submission["status"] != "AWAITING REVIEW":
        raise _illegal(call, submission)
    limit = call.session.readings.rejection_limit
    rejected = studies.counts(call.session, submission["study_id"])["REJECTED"]
    if limit is not None and rejected >= limit:
        raise ApiError(400, f"This study has reached its limit of {limit} rejections.")
    submissions.reject(call.session, submission, category=category, message=message)


def _complete(call: Call, submission: Row) -> None:
    study = studies.study_row(call.session, submission["study_id"])
    fields = Fields(call.body)
    text = fields.text("completion_code", required=True)
    fields.check()
    code = completion.code_of(study, text, "researcher")
    if code is None:
        raise invalid("completion_code", "No code of this study with the actor researcher.")
    percentage = _percentage(call, code["actions"])
    if submission["status"] in studies.PAID and submission["entered_code"] == text:
        return
    if submission["status"] not in RETURNABLE:
        raise _illegal(call, submission)
    submissions.complete(call.session, submission, text)
    for action in code["actions"]:
        completion.perform(call.session, submission["submission_id"], action, percentage)


def _percentage(call: Call, actions: list[Mapping[str, object]]) -> int:
    if not any(action["action"] == "DYNAMIC_PAYMENT" for action in actions):
        return 0
    data = call.body.get("completion_code_data")
    fields = Fields(data if isinstance(data, dict) else {})
    percentage = fields.number("percentage_of_reward", *PERCENTAGES, required=True)
    fields.check()
    return percentage or 0


def _undo(status: str) -> Callable[[Call, Row], None]:
    def undo(call: Call, submission: Row) -> None:
        if submission["status"] == "AWAITING REVIEW":
            return
        completed = submission["completed_at"] is not None
        if not call.session.readings.undo or submission["status"] != status or not completed:
            raise _illegal(call, submission)
        _check_place(call, submission)
        submissions.restore(call.session, submission)

    return undo


def _unexplained(call: Call, submission: Row) -> None:
    """Actions that the documentation lists and says nothing about."""
    raise _illegal(call, submission)


def _check_place(call: Call, submission: Row) -> None:
    study = studies.study_row(call.session, submission["study_id"])
    if studies.free_places(study, studies.counts(call.session, study["study_id"])) <= 0:
        raise ApiError(call.session.readings.illegal_transition, "All places are taken again.")


def _illegal(call: Call, submission: Row) -> ApiError:
    return ApiError(
        call.session.readings.illegal_transition,
        f"{call.body['action']} is not possible for a submission that is {submission['status']}.",
    )


def approve_in_bulk(call: Call) -> Reply:
    """Carried out later; what cannot be approved then is passed over."""
    fields = Fields(call.body)
    ids = fields.ids("submission_ids")
    if ids is None:
        study_id = fields.text("study_id", required=True)
        participants = fields.ids("participant_ids", required=True) or []
        fields.check()
        studies.study_row(call.session, study_id)
        ids = [it for each in participants for it in _of_participant(call, study_id, each)]
    fields.check()
    for submission_id in ids:
        submissions.submission_row(call.session, submission_id)
        call.session.insert(
            "bulk_approvals",
            submission_id=submission_id,
            due_at=call.session.now + call.session.readings.asynchronous_seconds,
        )
    return Reply("The request to bulk approve has been made successfully.")


def _of_participant(call: Call, study_id: str | None, participant_id: str) -> list[str]:
    query = "SELECT submission_id FROM submissions WHERE study_id = ? AND participant_id = ?"
    return [it["submission_id"] for it in call.session.rows(query, study_id, participant_id)]


def request_return(call: Call, submission_id: str) -> Reply:
    reasons = call.body.get("request_return_reasons")
    if (
        not isinstance(reasons, list)
        or not reasons
        or not all(isinstance(it, str) for it in reasons)
    ):
        raise invalid("request_return_reasons", "A list of reasons is required.")
    submission = submissions.submission_row(call.session, submission_id)
    if submission["status"] not in RETURNABLE:
        raise ApiError(
            call.session.readings.illegal_transition,
            f"A return cannot be requested of a submission that is {submission['status']}.",
        )
    completion.request_return(call.session, submission, "\n".join(reasons))
    answer = submission_answer(call, submission_id)
    return Reply({it: answer[it] for it in ("id", "status", "participant", "return_requested")})


ACTIONS: Mapping[str, Callable[[Call, Row], None]] = {
    "APPROVE": _approve,
    "REJECT": _reject,
    "COMPLETE": _complete,
    "UNREJECT": _undo("REJECTED"),
    "UNRETURN": _undo("RETURNED"),
    "RETURN": _unexplained,
    "START": _unexplained,
    "SCREEN_OUT": _unexplained,
}
OPERATIONS = (
    Operation("POST", "/submissions/<submission_id>/transition/", move),
    Operation("POST", "/submissions/bulk-approve/", approve_in_bulk, bare=True),
    Operation("POST", "/submissions/<submission_id>/request-return/", request_return),
)
