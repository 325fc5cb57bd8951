"""Controls that the record itself suggests."""

from __future__ import annotations

from django.db import models

from annotation.models.campaign import Control, Triplet


class Suggestion(models.Model):
    """A triplet that all agreed on, as a control: until a person confirms it, it is none."""

    class State(models.TextChoices):
        OPEN = "open"
        CONFIRMED = "confirmed"
        DISMISSED = "dismissed"

    triplet = models.OneToOneField(Triplet, on_delete=models.CASCADE, related_name="suggestion")
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    control = models.OneToOneField(
        Control, on_delete=models.PROTECT, null=True, blank=True, related_name="suggestion"
    )

    def __str__(self) -> str:
        return f"{self.triplet}: {self.state}"
