"""What the pages of review and of controls read instead of walking votes and judgments."""

from __future__ import annotations

from django.db import models

from annotation.models.campaign import Campaign


class ReviewFigures(models.Model):
    """A campaign's: derived by `annotation.analytics.quality.summary`, and may be made anew."""

    campaign = models.OneToOneField(
        Campaign, on_delete=models.CASCADE, related_name="review_figures"
    )
    at = models.DateTimeField()
    figures = models.JSONField()

    class Meta:
        verbose_name_plural = "review figures"

    def __str__(self) -> str:
        return f"{self.campaign} at {self.at}"
