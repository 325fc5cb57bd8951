"""The registry's record of a model that was trained here."""

from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from retrieval.ranking.input_forms import IN_WORDS, RETRIEVER_FORMS, SELECTOR_FORMS


class TrainedModel(models.Model):
    class Kind(models.TextChoices):
        RETRIEVER = "retriever", "retriever"
        SELECTOR = "selector", "answer selector"

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=9, choices=Kind.choices)
    form = models.CharField(max_length=3)
    # Of the best seed's model, inside settings.MODELS_DIR, so that the data folder may be moved.
    folder = models.CharField(max_length=300, unique=True)
    # Of all that lies in that folder: `registry.digest_of_folder`.
    sha256 = models.CharField(max_length=64)
    base = models.CharField(max_length=300)
    release = models.CharField(max_length=200)
    release_sha256 = models.CharField(max_length=64)  # of its manifest
    # The least score that it answers with; of a retriever, the least cosine.
    threshold = models.FloatField(null=True, blank=True)
    # training.json as it was when the model was registered.
    training = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=~Q(name=""), name="model_has_a_name"),
            models.CheckConstraint(
                condition=Q(kind="retriever", form__in=RETRIEVER_FORMS)
                | Q(kind="selector", form__in=SELECTOR_FORMS),
                name="model_reads_what_its_kind_can",
            ),
            models.CheckConstraint(
                condition=Q(threshold__isnull=True)
                | Q(kind="selector", threshold__gte=0, threshold__lte=1)
                | Q(kind="retriever", threshold__gte=-1, threshold__lte=1),
                name="model_threshold_is_a_score",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def reads(self) -> str:
        """What it reads of a candidate beside the query, for people."""
        return IN_WORDS[self.form]

    @property
    def path(self) -> Path:
        """Where the model lies now, as a loaded model names its folder."""
        return Path(settings.MODELS_DIR).resolve() / self.folder
