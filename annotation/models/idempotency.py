"""What a program has asked for once, so that asking again changes nothing."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models

KEPT = timedelta(days=30)  # that an answer is known again


class Request(models.Model):
    """A request to the API with an idempotency key, and its answer.

    Written before the work is done: without a status it is under way, or was cut off.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)  # of method, address and body
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_use_of_a_key")]

    def __str__(self) -> str:
        return self.key
