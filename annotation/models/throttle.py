"""What the site keeps so that nobody can try without end."""

from __future__ import annotations

from django.db import models


class Attempt(models.Model):
    """A try that counts against a limit, such as a wrong password; kept as long as it counts."""

    digest = models.CharField(max_length=64)  # of what is limited, a name or an address
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["digest", "at"], name="attempts")]

    def __str__(self) -> str:
        return f"{self.at}"
