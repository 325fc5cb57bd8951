"""The record of the crowds that work here: what MTurk would keep, kept in our database.

Nothing here refers to the rest of annotation, and its rows are no votes: `collect` reads the
record through the port, as it reads MTurk's. Django finds all of it here.
"""

from annotation.crowd.inhouse.models.assignments import (
    HANDED_IN,
    SUBMITTED_OR_DECIDED,
    Assignment,
    Bonus,
    Extension,
    PostedHit,
)
from annotation.crowd.inhouse.models.members import Invitation, Member, Notice
from annotation.crowd.inhouse.models.panels import PanelLink, Participant, Visit
from annotation.crowd.inhouse.models.qualifications import (
    Block,
    ExcludedWorker,
    Grant,
    HitType,
    Qualification,
    Queue,
)

__all__ = [
    "HANDED_IN",
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
    "PanelLink",
    "Participant",
    "PostedHit",
    "Qualification",
    "Queue",
    "Visit",
]
