"""Figures of a campaign at a time: pages read them instead of counting long tables."""

from __future__ import annotations

from django.db import models

from annotation.models.assignment import Worker
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


class ReviewFigures(models.Model):
    """Of a campaign; `annotation.analytics.quality.review_figures` can derive them again."""

    campaign = models.OneToOneField(
        Campaign, on_delete=models.CASCADE, related_name="review_figures"
    )
    at = models.DateTimeField()
    figures = models.JSONField()

    class Meta:
        verbose_name_plural = "review figures"

    def __str__(self) -> str:
        return f"{self.campaign} at {self.at}"


class Workforce(models.Model):
    """All of them together: derived by `annotation.analytics.workers.worker_figures`."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="workforce")
    at = models.DateTimeField()
    figures = models.JSONField()

    def __str__(self) -> str:
        return f"{self.campaign} at {self.at}"


class WorkerFigures(models.Model):
    """One worker's, derived with the campaign's."""

    # The unique index below begins with it.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="worker_figures", db_index=False
    )
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="figures")
    submitted = models.PositiveIntegerField()
    reviewed = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    failure_rate = models.FloatField(null=True)
    near = models.BooleanField()  # one more failed HIT is enough to be excluded
    compared = models.PositiveIntegerField()  # votes that others have a majority against or for
    agreeing = models.PositiveIntegerField()
    agreement = models.FloatField(null=True)
    timed = models.PositiveIntegerField()  # HITs with a time
    median_ms = models.FloatField(null=True)
    hourly_cents = models.PositiveIntegerField(null=True)
    with_behaviour = models.PositiveIntegerField()
    straight = models.PositiveIntegerField()
    straight_share = models.FloatField(null=True)
    changes_per_hit = models.FloatField(null=True)
    reports = models.PositiveIntegerField()
    cannot_judge = models.PositiveIntegerField(
        default=0, db_default=0
    )  # of these, instead of an answer
    fast = models.BooleanField()
    one_answer = models.BooleanField()

    class Meta:
        verbose_name_plural = "worker figures"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "worker"], name="figures_once_per_worker")
        ]

    def __str__(self) -> str:
        return f"{self.worker} in {self.campaign}"
