"""What is stored of a campaign; Django finds all of it here."""

from annotation.models.access import Attempt, AuditEntry, Request, Role, SavedView
from annotation.models.aggregation import Aggregation, Posterior
from annotation.models.assignment import (
    Assignment,
    Behaviour,
    Exclusion,
    ItemReport,
    Judgment,
    Worker,
)
from annotation.models.campaign import (
    Campaign,
    Control,
    ControlCandidate,
    ControlDraft,
    ExpertLabel,
    Instructions,
    Triplet,
)
from annotation.models.event import (
    Condition,
    Delivery,
    DeliveryAttempt,
    Event,
    MailPreference,
    Webhook,
)
from annotation.models.figures import (
    AssignmentCount,
    AssignmentTally,
    ControlTally,
    EffortTally,
    MeetingTally,
    PairTally,
    ReviewFigures,
    Snapshot,
    TripletCount,
    TripletTally,
    UntalliedHit,
    WorkerFigures,
    Workforce,
)
from annotation.models.hit import ChangedHit, Hit, HitItem
from annotation.models.ledger import Account, Entry
from annotation.models.outbox import OutboxMessage
from annotation.models.past import PastRecord
from annotation.models.pilot import Pilot
from annotation.models.qualification import QualificationItem, QualificationResult

__all__ = [
    "Account",
    "Aggregation",
    "Assignment",
    "AssignmentCount",
    "AssignmentTally",
    "Attempt",
    "AuditEntry",
    "Behaviour",
    "Campaign",
    "ChangedHit",
    "Condition",
    "Control",
    "ControlCandidate",
    "ControlDraft",
    "ControlTally",
    "Delivery",
    "DeliveryAttempt",
    "EffortTally",
    "Entry",
    "Event",
    "Exclusion",
    "ExpertLabel",
    "Hit",
    "HitItem",
    "Instructions",
    "ItemReport",
    "Judgment",
    "MailPreference",
    "MeetingTally",
    "OutboxMessage",
    "PairTally",
    "PastRecord",
    "Pilot",
    "Posterior",
    "QualificationItem",
    "QualificationResult",
    "Request",
    "ReviewFigures",
    "Role",
    "SavedView",
    "Snapshot",
    "Triplet",
    "TripletCount",
    "TripletTally",
    "UntalliedHit",
    "Webhook",
    "Worker",
    "WorkerFigures",
    "Workforce",
]
