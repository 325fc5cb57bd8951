"""The questions with their answers: the corpus."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class QaPair(models.Model):
    source = models.CharField(max_length=100)
    source_id = models.CharField(max_length=200)
    question = models.TextField()
    answer = models.TextField()
    license = models.CharField(max_length=300, blank=True, default="")
    # All copies of a question share this key: sampling and holding out go by it.
    question_key = models.CharField(max_length=64, db_index=True)
    # Independent of the row order and of primary keys: indexes are ordered by it.
    pair_key = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # No search finds a withdrawn pair; what was retrieved before stays.
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "q/a pair"
        indexes: ClassVar = [
            # Search asks for the few that are withdrawn.
            models.Index(
                fields=["withdrawn_at", "pair_key"],
                condition=Q(withdrawn_at__isnull=False),
                name="pair_withdrawn",
            ),
            # A publication states the licences of each source.
            models.Index(fields=["source", "license"], name="pair_license"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "source_id"], name="pair_once_per_source"),
            models.CheckConstraint(condition=~Q(question=""), name="pair_has_a_question"),
            models.CheckConstraint(condition=~Q(answer=""), name="pair_has_an_answer"),
        ]

    def __str__(self) -> str:
        return self.question[:80]
