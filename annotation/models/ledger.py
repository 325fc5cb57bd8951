"""What a campaign has, has promised and has paid."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from annotation.models.assignment import Assignment
from annotation.models.campaign import Campaign
from annotation.models.hit import Hit
from annotation.models.outbox import OutboxMessage


class Account(models.Model):
    """A campaign's money in cents; kept by a trigger from its entries, which alone are written."""

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="account")
    budget_cents = models.BigIntegerField(default=0)
    reserved_cents = models.BigIntegerField(default=0)
    paid_cents = models.BigIntegerField(default=0)
    discarded_cents = models.BigIntegerField(default=0)  # paid, but the work does not count
    billed_cents = models.BigIntegerField(default=0)  # that the crowd's own bill is higher; or less

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    budget_cents__gte=F("reserved_cents")
                    + F("paid_cents")
                    + F("discarded_cents")
                    + F("billed_cents")
                ),
                name="never_over_budget",
            ),
            models.CheckConstraint(
                condition=Q(reserved_cents__gte=0, paid_cents__gte=0, discarded_cents__gte=0),
                name="no_money_out_of_nothing",
            ),
        ]

    def __str__(self) -> str:
        return f"account of {self.campaign}"

    @property
    def spent_cents(self) -> int:
        return self.paid_cents + self.discarded_cents + self.billed_cents

    @property
    def available_cents(self) -> int:
        return self.budget_cents - self.reserved_cents - self.spent_cents


class Entry(models.Model):
    """Cents moved from one place to another: append-only, which triggers see to."""

    class Place(models.TextChoices):
        FUNDS = "funds"  # outside: where a budget comes from
        AVAILABLE = "available"
        RESERVED = "reserved"
        PAID = "paid"
        DISCARDED = "discarded"
        BILLED = "billed"

    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="entries")
    key = models.CharField(max_length=120, unique=True)  # one effect is booked once
    source = models.CharField(max_length=9, choices=Place.choices)
    target = models.CharField(max_length=9, choices=Place.choices)
    cents = models.PositiveBigIntegerField()
    hit = models.ForeignKey(
        Hit, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    assignment = models.ForeignKey(
        Assignment, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    message = models.ForeignKey(
        OutboxMessage, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.CheckConstraint(condition=Q(cents__gt=0), name="an_entry_moves_money"),
            models.CheckConstraint(condition=~Q(source=F("target")), name="an_entry_has_two_sides"),
        ]

    def __str__(self) -> str:
        return f"{self.cents} from {self.source} to {self.target}"
