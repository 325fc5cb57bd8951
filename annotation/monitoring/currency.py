"""A database counts in one currency, that of its first sums, which each process must have."""

from contextlib import suppress
from functools import cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, DatabaseError
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from annotation.crowd.turk.models import RequesterAccount
from annotation.models import Campaign
from annotation.protocol.policy.crowds import PAPER_CURRENCY


@cache
def check_currency() -> None:
    """Once a process. Raises ImproperlyConfigured."""
    paid = Campaign.objects.order_by().exclude(policy_data__reward_cents=0)
    named = {one or PAPER_CURRENCY for one in paid.values_list("policy_data__currency", flat=True)}
    named.update(RequesterAccount.objects.values_list("currency", flat=True))
    if others := named - {settings.CURRENCY}:
        raise ImproperlyConfigured(
            f"QUORUM_CURRENCY must be {' and '.join(sorted(others))}, as in the campaigns and "
            f"accounts of this database, not {settings.CURRENCY}."
        )


@receiver(connection_created)
def _check(connection: Any, **_: object) -> None:
    if connection.alias == DEFAULT_DB_ALIAS:
        with suppress(DatabaseError):  # there are no tables yet
            check_currency()
