"""What is stored of a campaign; Django finds all of it here."""

from annotation.models.attempt import Attempt
from annotation.models.campaign import Campaign, Control, ExpertLabel, Instructions, Triplet
from annotation.models.hit import Hit, HitItem
from annotation.models.intent import Intent
from annotation.models.money import Account, Entry
from annotation.models.practice import PracticeItem, PracticeResult
from annotation.models.work import Assignment, Exclusion, ItemReport, Judgment, Observation, Worker

__all__ = [
    "Account",
    "Assignment",
    "Attempt",
    "Campaign",
    "Control",
    "Entry",
    "Exclusion",
    "ExpertLabel",
    "Hit",
    "HitItem",
    "Instructions",
    "Intent",
    "ItemReport",
    "Judgment",
    "Observation",
    "PracticeItem",
    "PracticeResult",
    "Triplet",
    "Worker",
]
