"""The other face: what participants do, and the keys for anybody. No token is asked for."""

from urllib.parse import quote

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import Refused
from annotation.crowd.prolific.emulator.fields import is_id
from annotation.crowd.prolific.emulator.operations.messages import message_answer
from annotation.crowd.prolific.emulator.session import load, new_id
from annotation.crowd.prolific.emulator.state import (
    completion,
    eligibility,
    messages,
    studies,
    submissions,
    tokens,
)
from annotation.crowd.wire.session import Row

RETURNABLE = ("RESERVED", "ACTIVE", "AWAITING REVIEW")


def register(call: Call) -> Reply:
    """Under an id of their own, or a new one; again is no harm."""
    participant_id = call.body.get("participant_id") or new_id()
    if not is_id(participant_id):
        raise Refused(400, "participant_id must be 24 characters of 0 to 9 and a to f.")
    call.session.db.execute(
        "INSERT OR IGNORE INTO participants VALUES (?, ?)", (participant_id, call.session.now)
    )
    return Reply({"participant_id": participant_id}, 201)


def offers(call: Call, participant_id: str) -> Reply:
    """Studies that the participant can take a place of now."""
    _participant(call, participant_id)
    active = call.session.rows("SELECT study_id FROM studies WHERE status = 'ACTIVE' ORDER BY seq")
    rows = [studies.study_row(call.session, it["study_id"]) for it in active]
    return Reply(
        {"results": [_offer(row) for row in rows if _is_eligible(call, row, participant_id)]}
    )


def take(call: Call, participant_id: str, study_id: str) -> Reply:
    _participant(call, participant_id)
    study = studies.study_row(call.session, study_id)
    eligibility.check_eligible(call.session, study, participant_id)
    submission_id = submissions.reserve(call.session, study, participant_id)
    return Reply({"submission_id": submission_id}, 201)


def begin(call: Call, participant_id: str, submission_id: str) -> Reply:
    """The address of the study, with the participant's own values in it."""
    submission = _submission(call, participant_id, submission_id, ("RESERVED", "ACTIVE"))
    if submission["status"] == "RESERVED":
        submissions.begin(call.session, submission)
    study = studies.study_row(call.session, submission["study_id"])
    url = load(study["fields"])["external_study_url"]
    values = {
        "PROLIFIC_PID": participant_id,
        "STUDY_ID": submission["study_id"],
        "SESSION_ID": submission_id,
    }
    for name, value in values.items():
        url = url.replace(f"{{{{%{name}%}}}}", quote(value, safe=""))
    if load(study["fields"])["is_external_study_url_secure"]:
        url = tokens.secured(call.session, submission, url)
    return Reply({"url": url})


def finish(call: Call, participant_id: str, submission_id: str) -> Reply:
    code = call.body.get("code")
    if code is not None and not isinstance(code, str):
        raise Refused(400, "code must be a text.")
    late = call.session.readings.late_completion
    allowed = ("ACTIVE", "TIMED-OUT") if late else ("ACTIVE",)
    submission = _submission(call, participant_id, submission_id, allowed)
    if submission["status"] == "TIMED-OUT":
        study = studies.study_row(call.session, submission["study_id"])
        if studies.free_places(study, studies.counts(call.session, study["study_id"])) <= 0:
            raise Refused(409, "Your place has gone to another participant.")
    completion.complete(call.session, submission, code)
    return _status(call, submission_id)


def give_up(call: Call, participant_id: str, submission_id: str) -> Reply:
    """Before or after completing."""
    submission = _submission(call, participant_id, submission_id, RETURNABLE)
    submissions.end(call.session, submission, "RETURNED")
    return _status(call, submission_id)


def own_submissions(call: Call, participant_id: str) -> Reply:
    rows = call.session.rows(
        "SELECT submission_id, study_id, status FROM submissions WHERE participant_id = ?"
        " ORDER BY seq",
        participant_id,
    )
    return Reply({"results": [dict(row) for row in rows]})


def own_messages(call: Call, participant_id: str) -> Reply:
    rows = call.session.rows(
        "SELECT * FROM messages WHERE recipient_id = ? ORDER BY seq", participant_id
    )
    return Reply({"results": [message_answer(row) for row in rows]})


def write(call: Call, participant_id: str) -> Reply:
    _participant(call, participant_id)
    body, study_id = call.body.get("body"), call.body.get("study_id")
    if not isinstance(body, str) or not (study_id is None or isinstance(study_id, str)):
        raise Refused(400, "body must be a text, and study_id an id.")
    messages.send(
        call.session,
        sender_id=participant_id,
        recipient_id=messages.researcher_id(call.session),
        body=body,
        study_id=study_id,
    )
    return Reply(status=204)


def keys(call: Call) -> Reply:
    """By which the tokens of secured links are checked."""
    return Reply(tokens.published())


def _is_eligible(call: Call, study: Row, participant_id: str) -> bool:
    try:
        eligibility.check_eligible(call.session, study, participant_id)
    except Refused:
        return False
    return True


def _offer(study: Row) -> dict[str, object]:
    fields = load(study["fields"])
    return {
        "study_id": study["study_id"],
        "name": fields["name"],
        "description": fields["description"],
        "reward": study["reward_cents"],
        "estimated_completion_time": fields["estimated_completion_time"],
    }


def _participant(call: Call, participant_id: str) -> None:
    if not call.session.row("SELECT 1 FROM participants WHERE participant_id = ?", participant_id):
        raise Refused(404, "Nobody has registered under this id.")


def _submission(
    call: Call, participant_id: str, submission_id: str, allowed: tuple[str, ...]
) -> Row:
    submission = submissions.submission_row(call.session, submission_id)
    if submission["participant_id"] != participant_id:
        raise Refused(403, "This is the submission of another participant.")
    if submission["status"] not in allowed:
        raise Refused(409, f"This submission is {submission['status']}.")
    return submission


def _status(call: Call, submission_id: str) -> Reply:
    return Reply({"status": submissions.submission_row(call.session, submission_id)["status"]})


_OWN = "/participants/<participant_id>"
OPERATIONS = (
    Operation("POST", "/participants/", register),
    Operation("GET", f"{_OWN}/studies/", offers),
    Operation("POST", f"{_OWN}/studies/<study_id>/take/", take),
    Operation("GET", f"{_OWN}/submissions/", own_submissions),
    Operation("POST", f"{_OWN}/submissions/<submission_id>/open/", begin),
    Operation("POST", f"{_OWN}/submissions/<submission_id>/complete/", finish),
    Operation("POST", f"{_OWN}/submissions/<submission_id>/return/", give_up),
    Operation("GET", f"{_OWN}/messages/", own_messages),
    Operation("POST", f"{_OWN}/messages/", write),
    Operation("GET", "/.well-known/study/jwks.json", keys),
)
