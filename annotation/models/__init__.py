"""What is stored of a campaign; Django finds all of it here."""

from annotation.models.access import AuditEntry, Role
from annotation.models.assignment import (
    Assignment,
    Exclusion,
    ItemReport,
    Judgment,
    Observation,
    Worker,
)
from annotation.models.campaign import Campaign, Control, ExpertLabel, Instructions, Triplet
from annotation.models.hit import Hit, HitItem
from annotation.models.idempotency import Request
from annotation.models.ledger import Account, Entry
from annotation.models.outbox import OutboxMessage
from annotation.models.pilot import Pilot
from annotation.models.practice import PracticeItem, PracticeResult
from annotation.models.review_figures import ReviewFigures
from annotation.models.snapshot import Snapshot
from annotation.models.statistics import WorkerFigures, Workforce
from annotation.models.suggestion import Suggestion
from annotation.models.throttle import Attempt

__all__ = [
    "Account",
    "Assignment",
    "Attempt",
    "AuditEntry",
    "Campaign",
    "Control",
    "Entry",
    "Exclusion",
    "ExpertLabel",
    "Hit",
    "HitItem",
    "Instructions",
    "ItemReport",
    "Judgment",
    "Observation",
    "OutboxMessage",
    "Pilot",
    "PracticeItem",
    "PracticeResult",
    "Request",
    "ReviewFigures",
    "Role",
    "Snapshot",
    "Suggestion",
    "Triplet",
    "Worker",
    "WorkerFigures",
    "Workforce",
]
