"""The record of a team's own crowd: what MTurk would keep, kept in our database.

Nothing here refers to the rest of annotation, and its rows are no votes: `collect` reads the
record through the port, as it reads MTurk's. Django finds all of it here.
"""

from annotation.crowd.inhouse.models.assignments import (
    SUBMITTED_OR_DECIDED,
    Assignment,
    Bonus,
    Extension,
    PostedHit,
)
from annotation.crowd.inhouse.models.members import Invitation, Member, Notice
from annotation.crowd.inhouse.models.qualifications import (
    Block,
    ExcludedWorker,
    Grant,
    HitType,
    Qualification,
    Queue,
)

__all__ = [
    "SUBMITTED_OR_DECIDED",
    "Assignment",
    "Block",
    "Bonus",
    "ExcludedWorker",
    "Extension",
    "Grant",
    "HitType",
    "Invitation",
    "Member",
    "Notice",
    "PostedHit",
    "Qualification",
    "Queue",
]
