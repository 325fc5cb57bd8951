"""What happened that people and programs are told of, and how far each has been told."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.campaign import Campaign


class Event(models.Model):
    """Written in the transaction of what it tells of: append-only, which triggers see to."""

    class Type(models.TextChoices):
        COMPLETE = "campaign.complete", "Campaign complete"
        BLOCKED = "campaign.blocked", "Campaign standing still"
        BUDGET = "campaign.budget", "Budget nearly spent"
        PAY = "campaign.pay", "Pay below the crowd's minimum"
        RELEASE = "release.ready", "Release ready"
        JOB = "job.failed", "Job failed"
        WORK = "work.available", "New work for annotators"
        TURK = "turk.events", "Events of a requester's HITs"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    type = models.CharField(max_length=20, choices=Type.choices)
    at = models.DateTimeField(default=timezone.now)
    campaign = models.ForeignKey(
        Campaign, on_delete=models.PROTECT, null=True, blank=True, related_name="events"
    )
    data = models.JSONField()

    def __str__(self) -> str:
        return f"{self.type} {self.campaign or ''}".strip()

    @property
    def message_id(self) -> str:
        """The same in every attempt: a receiver knows a message by it that it has had before."""
        return f"evt_{self.uid.hex}"


# What anybody may want to hear of: a requester's events are for the requester alone.
OFFERED_TYPES = [(type.value, str(type.label)) for type in Event.Type if type != Event.Type.TURK]


class Condition(models.Model):
    """What holds of a campaign and was told. Gone when it ends, so that it is told once each."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="conditions")
    type = models.CharField(max_length=20, choices=Event.Type.choices)
    cause = models.CharField(max_length=30, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "type", "cause"], name="one_row_per_condition"
            )
        ]

    def __str__(self) -> str:
        return f"{self.campaign}: {self.type} {self.cause}".strip()


class Webhook(models.Model):
    """An address that events are sent to, signed with a secret that is shown once."""

    url = models.CharField(max_length=500)
    requester = models.ForeignKey(  # at the site's Turk, whose own events alone go there
        "turk.RequesterAccount", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    types = models.JSONField(default=list)  # of the events; empty: all of them
    # As it is, for a digest cannot sign; empty: the requester's own key does.
    secret = models.CharField(max_length=100)
    old_secret = models.CharField(max_length=100, blank=True)
    old_until = models.DateTimeField(null=True, blank=True)  # until then both sign
    active = models.BooleanField(default=True)
    fault = models.CharField(max_length=200, blank=True)  # why it is not, where nobody chose it
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["url"], condition=Q(requester=None), name="one_webhook_of_an_address"
            ),
            models.UniqueConstraint(
                fields=["requester", "url"], name="one_webhook_of_a_requester_and_address"
            ),
        ]

    def __str__(self) -> str:
        return f"webhook {self.pk}"  # an address may hold a password of its own


class Delivery(models.Model):
    """An event on its way to a webhook, or to a person by mail."""

    class State(models.TextChoices):
        PENDING = "pending"
        CLAIMED = "claimed"
        DONE = "done"
        FAILED = "failed"  # after the last attempt
        CANCELLED = "cancelled"  # its receiver wants none any more

    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="deliveries")
    webhook = models.ForeignKey(
        Webhook, on_delete=models.PROTECT, null=True, blank=True, related_name="deliveries"
    )
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    claim = models.CharField(max_length=32, blank=True)  # who has it
    claimed_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)  # not before
    attempts = models.PositiveIntegerField(default=0)  # since it was sent last by hand

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(
                condition=Q(webhook=None, account__isnull=False)
                | Q(webhook__isnull=False, account=None),
                name="one_receiver_of_a_delivery",
            ),
            models.UniqueConstraint(fields=["event", "webhook"], name="one_delivery_per_webhook"),
            models.UniqueConstraint(fields=["event", "account"], name="one_delivery_per_account"),
        ]
        indexes = [
            # deliver looks for what is still to be sent
            models.Index(
                fields=["id"],
                condition=Q(state__in=["pending", "claimed"]),
                name="deliveries_to_make",
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.state}"


class DeliveryAttempt(models.Model):
    """One try to deliver, and what came of it."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="tries")
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, blank=True)  # the answer's, where one came
    error = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.error or f"{self.status or 'sent'}"


class MailPreference(models.Model):
    """Of an account that has chosen; without a row it gets every mail that is meant for it."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    unwanted = models.JSONField(default=list)  # types of events

    def __str__(self) -> str:
        return f"mails of {self.account}"
