"""Who may post HITs at the site's Turk, what was deposited, and what was paid out."""

from __future__ import annotations

import secrets
import string

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

from annotation.protocol.policy.crowds import PAPER_CURRENCY

NAME = r"[a-z0-9][a-z0-9-]{0,49}"
KEY_ALPHABET = string.ascii_uppercase + string.digits


def new_key_id() -> str:
    """In the form of AWS's."""
    return "AKIA" + "".join(secrets.choice(KEY_ALPHABET) for _ in range(16))


def new_secret() -> str:
    return secrets.token_urlsafe(30)


class RequesterAccount(models.Model):
    # It names the account's folder and is part of addresses.
    name = models.CharField(max_length=50, unique=True, validators=[RegexValidator(f"^{NAME}$")])
    access_key_id = models.CharField(max_length=20, unique=True, default=new_key_id)
    # As it is, for a digest cannot check a signature.
    secret_access_key = models.CharField(max_length=40, default=new_secret)
    owner = models.ForeignKey(  # none: made by command
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    currency = models.CharField(max_length=3, default=PAPER_CURRENCY, editable=False)
    # The last event of each store that is on its way to whom the requester named.
    production_event = models.PositiveBigIntegerField(default=0, editable=False)
    sandbox_event = models.PositiveBigIntegerField(default=0, editable=False)

    def __str__(self) -> str:
        return self.name


class AccountDeposit(models.Model):
    """What an account was given; the ledger of its store books the sum of these."""

    account = models.ForeignKey(RequesterAccount, on_delete=models.PROTECT, related_name="deposits")
    cents = models.PositiveIntegerField()
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.cents} cents for {self.account}"


class Payout(models.Model):
    """The rewards and bonuses in one stretch of an account's ledger, which never changes."""

    account = models.ForeignKey(
        RequesterAccount, on_delete=models.PROTECT, related_name="payouts", db_index=False
    )
    number = models.PositiveIntegerField()
    after = models.PositiveBigIntegerField()  # the row of the ledger before the first
    until = models.PositiveBigIntegerField()  # the last one
    cents = models.PositiveBigIntegerField()
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "number"], name="one_payout_of_a_number"),
            models.CheckConstraint(
                condition=models.Q(until__gt=models.F("after")), name="payouts_hold_something"
            ),
        ]

    def __str__(self) -> str:
        return f"pay-out {self.number} of {self.account}"
