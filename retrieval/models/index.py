"""The indexes built from the pairs."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from retrieval.models.corpus import Corpus
from retrieval.models.trained_model import TrainedModel


class IndexForm(models.TextChoices):
    QQA = "QQA", "question and answer together"
    QQ = "QQ", "question alone"


class IndexKind(models.TextChoices):
    """Each kind: what a manifest calls it, words for people."""

    EXACT = "exact", "exact, on the CPU"
    GPU = "gpu", "exact, on the GPU"
    HNSW = "hnsw", "a graph (FAISS HNSW), scored again exactly"
    IVF = "ivf", "inverted lists (FAISS IVF), scored again exactly"
    IVF_GPU = "ivf-gpu", "inverted lists on the GPU (FAISS IVF), scored again exactly"
    PGVECTOR = "pgvector", "in PostgreSQL (pgvector), scored again exactly"
    MILVUS = "milvus", "in Milvus, scored again exactly"


# Their rows lie in an engine of its own: whether all are there, the version's files do not say.
ENGINES = (IndexKind.PGVECTOR, IndexKind.MILVUS)


def index_kinds() -> list[tuple[str, str]]:
    """Called by the field, so that another kind needs no migration."""
    return IndexKind.choices


class IndexVersion(models.Model):
    MAX_MODEL = 300

    # None: of all pairs. A corpus that goes takes its indexes with it.
    corpus = models.ForeignKey(
        Corpus, on_delete=models.CASCADE, null=True, blank=True, related_name="indexes"
    )
    model = models.CharField(max_length=MAX_MODEL)
    form = models.CharField(max_length=3, choices=IndexForm.choices)
    kind = models.CharField(max_length=32, choices=index_kinds, default=IndexKind.EXACT)
    dimension = models.PositiveIntegerField()
    pairs = models.PositiveIntegerField()
    # Of the exact 30 nearest, the share that the index finds; measured when it was made.
    recall = models.FloatField(null=True, blank=True)
    # With `pairs`, tells cheaply whether pairs have come since: pairs never change and never go.
    newest_pair = models.BigIntegerField(default=0)
    # sha256 over the sorted pair keys: the set of pairs that the index holds.
    database_digest = models.CharField(max_length=64)
    # The folder's name inside settings.INDEX_DIR, so that the data folder may be moved.
    path = models.CharField(max_length=300, unique=True)
    manifest = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    # What `quorum index build` last asked for: the current index is the one chosen last, and the
    # setting's value then tells whether the setting has been changed since.
    chosen_at = models.DateTimeField()
    model_setting = models.CharField(max_length=MAX_MODEL)
    # The registered model that lies in the folder `model`.
    trained = models.ForeignKey(
        TrainedModel, on_delete=models.PROTECT, null=True, blank=True, related_name="indexes"
    )

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(form__in=["QQA", "QQ"]), name="index_form_known"),
            models.CheckConstraint(
                condition=Q(dimension__gt=0, pairs__gt=0), name="index_is_not_empty"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.known_as} ({self.get_form_display()}), {self.pairs:,} pairs"

    @property
    def known_as(self) -> str:
        """Its model, by the name that people gave it."""
        return self.model if self.trained is None else self.trained.name
