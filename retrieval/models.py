"""The q/a database, the indexes built from it, and the queries with their candidates."""

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

    class Meta:
        verbose_name = "q/a pair"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "source_id"], name="pair_once_per_source"),
            models.CheckConstraint(condition=~Q(question=""), name="pair_has_a_question"),
            models.CheckConstraint(condition=~Q(answer=""), name="pair_has_an_answer"),
        ]

    def __str__(self) -> str:
        return self.question[:80]


class IndexForm(models.TextChoices):
    QQA = "QQA", "question and answer together"
    QQ = "QQ", "question alone"


class IndexVersion(models.Model):
    MAX_MODEL = 300

    model = models.CharField(max_length=MAX_MODEL)
    form = models.CharField(max_length=3, choices=IndexForm.choices)
    dimension = models.PositiveIntegerField()
    pairs = models.PositiveIntegerField()
    # sha256 over the sorted pair keys: the set of pairs that the index holds.
    database_digest = models.CharField(max_length=64)
    # The folder's name inside settings.INDEX_DIR, so that the data folder may be moved.
    path = models.CharField(max_length=300, unique=True)
    manifest = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    # What `manage.py index` last asked for: the current index is the one chosen last, and the
    # setting's value then tells whether the setting has been changed since.
    chosen_at = models.DateTimeField()
    model_setting = models.CharField(max_length=MAX_MODEL)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(form__in=["QQA", "QQ"]), name="index_form_known"),
            models.CheckConstraint(
                condition=Q(dimension__gt=0, pairs__gt=0), name="index_is_not_empty"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.form} {self.model}, {self.pairs:,} pairs"


class QuerySet(models.Model):
    class Origin(models.TextChoices):
        SAMPLE = "sample", "sampled from the database"
        FILE = "file", "given in a file"
        IMPORT = "import", "labelled elsewhere"

    name = models.CharField(max_length=100, unique=True)
    origin = models.CharField(max_length=6, choices=Origin.choices)
    seed = models.BigIntegerField(null=True, blank=True)
    # Rows of the file that repeated an earlier row's question and were dropped.
    duplicates = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    retrieved_with = models.ForeignKey(
        IndexVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="query_sets"
    )

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(origin="sample", seed__isnull=False)
                | Q(origin__in=["file", "import"], seed__isnull=True),
                name="query_set_seeded_iff_sampled",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def made_elsewhere(self) -> bool:
        return self.origin == self.Origin.IMPORT


class Query(models.Model):
    query_set = models.ForeignKey(QuerySet, on_delete=models.CASCADE, related_name="queries")
    key = models.CharField(max_length=64)
    text = models.TextField()
    question_key = models.CharField(max_length=64, db_index=True)
    position = models.PositiveIntegerField()
    # Of a dataset made elsewhere: the split that it was published in. Empty: none is known.
    split = models.CharField(max_length=5, blank=True, default="")

    class Meta:
        verbose_name_plural = "queries"
        ordering: ClassVar = ["query_set", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["query_set", "key"], name="query_key_once"),
            models.UniqueConstraint(fields=["query_set", "question_key"], name="query_text_once"),
            models.UniqueConstraint(fields=["query_set", "position"], name="query_position_once"),
            models.CheckConstraint(condition=~Q(text=""), name="query_has_a_text"),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class Candidate(models.Model):
    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="candidates")
    pair = models.ForeignKey(QaPair, on_delete=models.PROTECT, related_name="candidacies")
    rank = models.PositiveSmallIntegerField()
    # Null: of a dataset made elsewhere that tells none.
    score = models.FloatField(null=True, blank=True, help_text="cosine, rounded to 6 decimals")

    class Meta:
        ordering: ClassVar = ["query", "rank"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["query", "rank"], name="candidate_rank_once"),
            models.UniqueConstraint(fields=["query", "pair"], name="candidate_pair_once"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="candidate_rank_from_one"),
            models.CheckConstraint(
                condition=Q(score__gte=-1, score__lte=1), name="candidate_score_is_a_cosine"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rank}. {self.pair_id}"
