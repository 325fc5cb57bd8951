"""What the site keeps so that nobody can try passwords without end."""

from __future__ import annotations

from django.db import models


class SignInAttempt(models.Model):
    """A try to sign in that has not succeeded; kept as long as it counts."""

    digest = models.CharField(max_length=64)  # of the username and the address it came from
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["digest", "at"], name="sign_in_attempts")]

    def __str__(self) -> str:
        return f"{self.at}"
