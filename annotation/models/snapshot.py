"""A campaign's figures at a time: pages read them instead of counting long tables."""

from __future__ import annotations

from django.db import models

from annotation.models.campaign import Campaign


class Snapshot(models.Model):
    """Derived after each pass by `annotation.analytics.campaign.snapshots`."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="snapshots")
    at = models.DateTimeField()
    figures = models.JSONField()

    class Meta:
        indexes = [
            # the overview reads the newest, and those of a time
            models.Index(fields=["campaign", "-at"], name="snapshots_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign} at {self.at}"
