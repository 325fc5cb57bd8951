"""The qualification test before the first HIT."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from annotation.models.assignment import Worker
from annotation.models.campaign import Campaign


class QualificationItem(models.Model):
    """An item of a campaign's qualification test, with its answer and the reason for it."""

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="qualification_items"
    )
    position = models.PositiveSmallIntegerField()
    query = models.TextField()
    question = models.TextField()
    answer = models.TextField(blank=True)
    expected = models.SmallIntegerField()
    why = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "position"], name="one_qualification_item_per_position"
            ),
            models.CheckConstraint(
                condition=Q(expected__in=[0, 1]), name="qualification_expects_0_or_1"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.campaign} qualification item {self.position}"


class QualificationResult(models.Model):
    """One try of a worker at the qualification test."""

    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="qualification_results"
    )
    worker = models.ForeignKey(
        Worker, on_delete=models.PROTECT, related_name="qualification_results"
    )
    answers = models.JSONField()  # position -> 0 or 1
    correct = models.PositiveSmallIntegerField()
    items = models.PositiveSmallIntegerField()
    passed = models.BooleanField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(correct__lte=F("items")), name="correct_among_the_qualification_items"
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker} {self.correct} of {self.items}"
