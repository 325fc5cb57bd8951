"""What a completion code does: its actions, one after another."""

from collections.abc import Mapping
from typing import Any

from annotation.crowd.prolific.emulator.session import Session
from annotation.crowd.prolific.emulator.state import groups, messages, studies, submissions
from annotation.crowd.wire.session import Row


def code_of(study: Row, text: str | None, actor: str) -> dict[str, Any] | None:
    for code in studies.completion_codes(study):
        if code["code"] == text and code["actor"] == actor:
            return code
    return None


def complete(session: Session, submission: Row, text: str | None) -> None:
    """By the participant; a code that the study does not have waits for its review."""
    submissions.complete(session, submission, text, refresh=False)
    study = studies.study_row(session, submission["study_id"])
    code = code_of(study, text, "participant")
    for action in code["actions"] if code else ():
        perform(session, submission["submission_id"], action)
    # Only now: whom a code screens out has filled no place on the way.
    studies.refresh(session, submission["study_id"])


def perform(
    session: Session, submission_id: str, action: Mapping[str, Any], percentage: int = 0
) -> None:
    submission = submissions.submission_row(session, submission_id)
    match action["action"]:
        case "AUTOMATICALLY_APPROVE":
            submissions.approve(session, submission)
        case "ADD_TO_PARTICIPANT_GROUP":
            _in_group(session, action, submission, groups.add)
        case "REMOVE_FROM_PARTICIPANT_GROUP":
            _in_group(session, action, submission, groups.remove)
        case "REQUEST_RETURN":
            request_return(session, submission, action["return_reason"])
        case "DYNAMIC_PAYMENT":
            cents = (submission["reward_cents"] * percentage + 50) // 100
            submissions.pay(session, submission, "PARTIALLY APPROVED", kind="partial", cents=cents)
        case studies.SCREEN_OUT:
            _screen_out(session, submission, action)


def _in_group(session: Session, action: Mapping[str, Any], submission: Row, change: Any) -> None:
    """A group that is gone is no reason to refuse the participant."""
    group_id = action["participant_group"]
    if session.row("SELECT 1 FROM participant_groups WHERE group_id = ?", group_id):
        change(session, group_id, [submission["participant_id"]])


def _screen_out(session: Session, submission: Row, action: Mapping[str, Any]) -> None:
    """Once the slots are used up, a submission waits for its review like any other."""
    study = studies.study_row(session, submission["study_id"])
    if studies.slots_left(study, studies.counts(session, study["study_id"])) > 0:
        cents = action["fixed_screen_out_reward"]
        submissions.pay(session, submission, "SCREENED OUT", kind="screen_out", cents=cents)


def request_return(session: Session, submission: Row, reason: str) -> None:
    """A message; the status stays as it is."""
    submissions.request_return(session, submission)
    messages.send(
        session,
        sender_id=messages.researcher_id(session),
        recipient_id=submission["participant_id"],
        body=reason,
        study_id=submission["study_id"],
    )
