"""The record of a team's own crowd: what MTurk would keep, kept in our database.

Nothing here refers to the rest of annotation, and its rows are no votes: `collect` reads the
record through the port, as it reads MTurk's. Django finds all of it here.
"""

from annotation.crowd.inhouse.models.assignments import HANDED_IN, Bonus, Extension, Offer, Work
from annotation.crowd.inhouse.models.members import Invitation, Member, Notice
from annotation.crowd.inhouse.models.qualifications import (
    Barred,
    Block,
    Grant,
    HitType,
    Qualification,
    Queue,
)

__all__ = [
    "HANDED_IN",
    "Barred",
    "Block",
    "Bonus",
    "Extension",
    "Grant",
    "HitType",
    "Invitation",
    "Member",
    "Notice",
    "Offer",
    "Qualification",
    "Queue",
    "Work",
]
