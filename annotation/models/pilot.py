"""The paper's pilot: the same triplets judged twice, with the answer and without it."""

from __future__ import annotations

from django.db import models

from annotation.models.campaign import Campaign


class Pilot(models.Model):
    """Two campaigns over copies of the same triplets, which differ by `show_answer` alone."""

    name = models.SlugField(max_length=50, unique=True)
    shown = models.OneToOneField(
        Campaign, on_delete=models.PROTECT, related_name="pilot_with_the_answer"
    )
    hidden = models.OneToOneField(
        Campaign, on_delete=models.PROTECT, related_name="pilot_without_the_answer"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
