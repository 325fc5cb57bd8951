"""What was done elsewhere before, as its files say: imported to be looked up, never counted."""

from __future__ import annotations

from typing import Any

from django.db import models

from annotation.models.assignment import Worker


class PastRecord(models.Model):
    """All that imported files say of one thing; no column but `fields` says more than they do."""

    class Kind(models.TextChoices):
        HIT = "hit", "HIT"
        ASSIGNMENT = "assignment"
        BONUS = "bonus"
        WORKER = "worker"
        QUALIFICATION = "qualification"

    class Status(models.TextChoices):
        """Of an assignment, in the order in which they may follow each other; of a worker."""

        SUBMITTED = "submitted"
        REJECTED = "rejected"
        APPROVED = "approved"  # also what was rejected before
        BLOCKED = "blocked"

    kind = models.CharField(max_length=13, choices=Kind.choices)
    # The constraint below begins with both.
    crowd = models.CharField(max_length=20)
    key = models.CharField(max_length=255)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="past")
    # An assignment's HIT, a bonus's assignment.
    part_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="parts")
    title = models.CharField(max_length=255, blank=True)
    batch = models.CharField(max_length=255, blank=True)  # the requester's own word for it
    status = models.CharField(max_length=9, choices=Status.choices, blank=True)
    cents = models.PositiveBigIntegerField(null=True)  # a HIT's reward, a bonus
    at = models.DateTimeField(null=True)
    # Name -> every value that a file gave: where two files differ, both are kept.
    fields: Any = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["crowd", "kind", "key"], name="one_past_record_a_key")
        ]
        indexes = [models.Index(fields=["kind", "id"], name="past_records_of_a_kind")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def bonus_cents(self) -> int:
        """Paid on top for an assignment."""
        return sum(bonus.cents or 0 for bonus in self.parts.all())
