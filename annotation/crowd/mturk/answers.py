"""What MTurk tells, in the port's terms."""

from datetime import UTC
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from annotation.crowd.mturk.xml import read_answers
from annotation.crowd.port import CrowdError, CrowdHit, Submission

if TYPE_CHECKING:
    from mypy_boto3_mturk.type_defs import AssignmentTypeDef, HITTypeDef

_STATUSES: dict[str, Literal["submitted", "approved", "rejected"]] = {
    "Submitted": "submitted",
    "Approved": "approved",
    "Rejected": "rejected",
}


def cents_of(dollars: str) -> int:
    return int(Decimal(dollars) * 100)


def dollars_of(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def crowd_hit(hit: "HITTypeDef") -> CrowdHit:
    # MTurk counts as completed only what is reviewed: what is submitted is what is neither free
    # nor in somebody's hands.
    return CrowdHit(
        hit_id=hit["HITId"],
        annotation=hit.get("RequesterAnnotation", ""),
        max_assignments=hit["MaxAssignments"],
        available=hit["NumberOfAssignmentsAvailable"],
        pending=hit["NumberOfAssignmentsPending"],
        completed=hit["NumberOfAssignmentsCompleted"],
        expires_at=hit["Expiration"].astimezone(UTC),
    )


def submission(assignment: "AssignmentTypeDef") -> Submission:
    assignment_id = assignment["AssignmentId"]
    try:
        answers = read_answers(assignment["Answer"])
    except ValueError as error:
        message = f"The answers of assignment {assignment_id} cannot be read: {error}."
        raise CrowdError(message, permanent=True) from error
    return Submission(
        assignment_id=assignment_id,
        worker_id=assignment["WorkerId"],
        accepted_at=assignment["AcceptTime"].astimezone(UTC),
        submitted_at=assignment["SubmitTime"].astimezone(UTC),
        status=_STATUSES[assignment["AssignmentStatus"]],
        answers=answers,
    )
