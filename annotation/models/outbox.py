"""Calls to the crowd, written down before they are made."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.assignment import Assignment, Worker
from annotation.models.campaign import Campaign
from annotation.models.hit import Hit


class OutboxMessage(models.Model):
    """A call to the crowd that is to be made, was perhaps made, or is done: written before it."""

    class Kind(models.TextChoices):
        CREATE = "create"
        EXTEND = "extend"
        APPROVE = "approve"
        REJECT = "reject"
        EXCLUDE = "exclude"
        RESTORE = "restore"  # an exclusion taken back
        KNOW = "know"  # the worker gets the qualification that repacked HITs ask for
        TRAIN = "train"  # the worker gets the qualification of the qualification test
        LIFETIME = "lifetime"  # the HIT expires at another time
        BONUS = "bonus"
        OVERTURN = "overturn"  # a rejection that is taken back
        NOTIFY = "notify"  # a message to the worker

    class State(models.TextChoices):
        PENDING = "pending"
        CLAIMED = "claimed"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"  # not wanted any more, and without effect at the crowd

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="outbox")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    token = models.CharField(max_length=64)
    hit = models.ForeignKey(
        Hit, on_delete=models.CASCADE, null=True, blank=True, related_name="outbox"
    )
    assignment = models.ForeignKey(
        Assignment, on_delete=models.CASCADE, null=True, blank=True, related_name="outbox"
    )
    worker = models.ForeignKey(
        Worker, on_delete=models.CASCADE, null=True, blank=True, related_name="outbox"
    )
    new_assignments = models.PositiveSmallIntegerField(default=0)  # what create or extend asks for
    cents = models.PositiveIntegerField(default=0)  # what a bonus gives
    expires_at = models.DateTimeField(null=True, blank=True)  # what lifetime sets
    reason = models.TextField(blank=True)  # what the worker is told
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    claim = models.CharField(max_length=32, blank=True)  # who has it
    claimed_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)  # not before
    first_sent_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token"], name="one_message_per_effect"),
            models.CheckConstraint(
                condition=~Q(kind="reject") | ~Q(reason=""), name="a_rejection_has_its_reason"
            ),
        ]
        # deliver looks for what is still to be sent
        indexes = [
            models.Index(
                fields=["campaign", "id"],
                condition=Q(state__in=["pending", "claimed"]),
                name="outbox_messages_to_deliver",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
