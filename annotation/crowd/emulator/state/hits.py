"""HITs as MTurk shows them to their requester."""

import json

from annotation.crowd.emulator.dispatch import Answer, require_row
from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.state.money import dollars
from annotation.crowd.wire.session import Row, Session


def hit_record(session: Session, hit_id: str) -> Row:
    row = session.db.execute("SELECT * FROM hit_records WHERE hit_id = ?", (hit_id,)).fetchone()
    return require_row(row, "HITDoesNotExist", f"Hit {hit_id} does not exist.")


def kept_hit(session: Session, hit_id: str) -> Row:
    """For what cannot be done to a HIT that was deleted."""
    hit = hit_record(session, hit_id)
    if hit["deleted_at"] is not None:
        raise invalid_state(hit, "Assignable, Unassignable, Reviewing, Reviewable")
    return hit


def mark_extended(session: Session, hit: Row) -> None:
    """More of it is to come: what is to be reviewed has to be looked at again."""
    session.db.execute(
        "UPDATE hits SET extended_at = ?, reviewing = 0 WHERE hit_id = ?",
        (session.now, hit["hit_id"]),
    )


def invalid_state(hit: Row, wanted: str) -> RequestError:
    return RequestError(
        "InvalidHITState",
        f"This HIT is currently in the state '{hit['status']}'."
        f"  This operation can be called with a status of: {wanted}",
    )


def hit_answer(hit: Row) -> Answer:
    answer: Answer = {
        "HITId": hit["hit_id"],
        "HITTypeId": hit["hit_type_id"],
        "HITGroupId": hit["hit_group_id"],
        "CreationTime": hit["created_at"],
        "Title": hit["title"],
        "Description": hit["description"],
        "Question": hit["question"],
        "Keywords": hit["keywords"],
        "HITStatus": hit["status"],
        "MaxAssignments": hit["max_assignments"],
        "Reward": dollars(hit["reward_cents"]),
        "AutoApprovalDelayInSeconds": hit["auto_approval_seconds"],
        "Expiration": hit["expires_at"],
        "AssignmentDurationInSeconds": hit["assignment_seconds"],
        "QualificationRequirements": json.loads(hit["requirements"]),
        "HITReviewStatus": "NotReviewed",
    } | _counts(hit)
    if hit["requester_annotation"] is not None:
        answer["RequesterAnnotation"] = hit["requester_annotation"]
    return answer


def _counts(hit: Row) -> Answer:
    """Submitted work is in none of the three; of an expired HIT none is available."""
    return {
        "NumberOfAssignmentsPending": hit["pending"],
        "NumberOfAssignmentsAvailable": 0 if hit["expired"] else hit["open_assignments"],
        "NumberOfAssignmentsCompleted": hit["completed"],
    }
