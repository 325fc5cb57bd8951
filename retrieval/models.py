"""The q/a database, the indexes built from it, and the queries with their candidates."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from retrieval.ranking.fusion import ALONE
from retrieval.trained import TrainedModel


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
        ]
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


class IndexKind(models.TextChoices):
    EXACT = "exact", "exact, on the CPU"
    GPU = "gpu", "exact, on the GPU"
    HNSW = "hnsw", "a graph (FAISS HNSW), scored again exactly"
    IVF = "ivf", "inverted lists (FAISS IVF), scored again exactly"
    PGVECTOR = "pgvector", "in PostgreSQL (pgvector), scored again exactly"


class IndexVersion(models.Model):
    MAX_MODEL = 300

    model = models.CharField(max_length=MAX_MODEL)
    form = models.CharField(max_length=3, choices=IndexForm.choices)
    kind = models.CharField(max_length=8, choices=IndexKind.choices, default=IndexKind.EXACT)
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
    # What `manage.py index` last asked for: the current index is the one chosen last, and the
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
        return f"{self.form} {self.known_as}, {self.pairs:,} pairs"

    @property
    def known_as(self) -> str:
        """Its model, by the name that people gave it."""
        return self.model if self.trained is None else self.trained.name


class QuerySet(models.Model):
    class Origin(models.TextChoices):
        SAMPLE = "sample", "sampled from the database"
        FILE = "file", "given in a file"
        IMPORT = "import", "labelled elsewhere"
        AUDIT = "audit", "drawn from another query set, to judge what its ranks leave out"
        COPY = "copy", "drawn from another query set with candidates, to judge them once more"

    name = models.CharField(max_length=100, unique=True)
    origin = models.CharField(max_length=6, choices=Origin.choices)
    # Of an audit or a copy: the query set whose queries are looked at again.
    audits = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="audited_by"
    )
    seed = models.BigIntegerField(null=True, blank=True)
    # Rows of the file that repeated an earlier row's question and were dropped.
    duplicates = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    retrieved_with = models.ForeignKey(
        IndexVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="query_sets"
    )
    # Which retrievers the candidates came from, and with what settings.
    retrieval = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(origin__in=["sample", "audit", "copy"], seed__isnull=False)
                | Q(origin__in=["file", "import"], seed__isnull=True),
                name="query_set_seeded_iff_sampled",
            ),
            models.CheckConstraint(
                condition=Q(origin__in=["audit", "copy"], audits__isnull=False)
                | (~Q(origin__in=["audit", "copy"]) & Q(audits__isnull=True)),
                name="query_set_audits_iff_audit",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def made_elsewhere(self) -> bool:
        """It came with its candidates, of any number a query: none are retrieved."""
        return self.origin in (self.Origin.IMPORT, self.Origin.COPY)

    @property
    def retrievers(self) -> tuple[str, ...]:
        """By whom its candidates were found; the dense one where nothing says another."""
        return tuple(self.retrieval.get("retrievers", ALONE))

    @property
    def pool(self) -> tuple[str, ...]:
        """The retrievers that its candidates tell of: none where the dense one alone found all."""
        told = tuple(self.retrieval.get("retrievers", ()))
        return told if self.made_elsewhere or told != ALONE else ()


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
    # The rank in each retriever that found it, by its name. Null: the dense one alone, at `rank`.
    found_by = models.JSONField(null=True, blank=True)

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


class EncodingJob(models.Model):
    """Vectors that the workers make together for the builds of a store, shard by shard."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    # The folder's name, which is made of the identity.
    store = models.CharField(max_length=40, unique=True)
    # What every worker's encoder must be, and the name it loads it by.
    identity = models.JSONField()
    model = models.CharField(max_length=IndexVersion.MAX_MODEL)
    state = models.CharField(max_length=7, choices=State.choices, default=State.RUNNING)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.store}, {self.state}"


class EncodingShard(models.Model):
    """Some pairs, encoded by whoever claims them."""

    class State(models.TextChoices):
        QUEUED = "queued", "waits for a worker"
        RUNNING = "running", "being encoded"
        DONE = "done", "encoded"
        FAILED = "failed", "given up"

    job = models.ForeignKey(EncodingJob, on_delete=models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    keys = models.BinaryField()  # of the pairs, 32 bytes each; emptied once they are encoded
    pairs = models.PositiveIntegerField()
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED)
    claim = models.CharField(max_length=32, blank=True)  # of the process that is at it
    beat_at = models.DateTimeField(null=True, blank=True)  # when it last said so
    attempts = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)  # pairs encoded by whoever is at it
    error = models.TextField(blank=True)  # of the last attempt that failed, one sentence
    shard = models.JSONField(null=True, blank=True)  # its record, once it is done

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "number"], name="encoding_shard_once"),
            models.CheckConstraint(
                condition=Q(state="done", shard__isnull=False)
                | (~Q(state="done") & Q(shard__isnull=True)),
                name="encoding_is_done_with_a_shard",
            ),
        ]
        ordering: ClassVar = ["job", "number"]

    def __str__(self) -> str:
        return f"shard {self.number} of {self.job}"


class Job(models.Model):
    """Long work that a page or a program has asked for; `retrieval.jobs` does it."""

    class State(models.TextChoices):
        QUEUED = "queued", "waits for a worker"
        RUNNING = "running", "under way"
        DONE = "done", "done"
        FAILED = "failed", "given up"

    kind = models.CharField(max_length=30)
    subject = models.CharField(max_length=100, blank=True)  # a campaign's name, a source's
    arguments = models.JSONField(default=dict)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    requested_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED)
    claim = models.CharField(max_length=32, blank=True)  # of the process that is at it
    beat_at = models.DateTimeField(null=True, blank=True)  # when it last said so
    attempts = models.PositiveSmallIntegerField(default=0)
    stage = models.CharField(max_length=100, blank=True)  # what is being done, for people
    done = models.PositiveBigIntegerField(default=0)  # of `total`, in this stage
    total = models.PositiveBigIntegerField(null=True, blank=True)  # null: nobody knows
    result = models.JSONField(null=True, blank=True)  # of the work that is done
    error = models.TextField(blank=True)  # of the work that failed, one sentence
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            # a page asks for what was asked for last
            models.Index(fields=["subject", "-requested_at"], name="jobs_by_subject"),
            # a worker looks for what is still to be done
            models.Index(
                fields=["requested_at"],
                condition=Q(state__in=["queued", "running"]),
                name="jobs_to_do",
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=Q(state__in=["queued", "running"]),
                name="one_job_of_a_kind_under_way",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}".strip()

    @property
    def title(self) -> str:
        kind = self.kind.replace("-", " ").replace("_", " ").capitalize()
        return f"{kind}: {self.subject}" if self.subject else kind

    @property
    def is_over(self) -> bool:
        return self.state in (self.State.DONE, self.State.FAILED)

    @property
    def count(self) -> str:
        """How far the stage is."""
        so_far = f"{self.done:,}" if self.done else ""
        return f"{self.done:,} of {self.total:,}" if self.total else so_far

    @property
    def figures(self) -> list[tuple[str, str]]:
        """What came of it, for people: its plain values, by name."""
        return [
            (name.replace("_", " ").capitalize(), _told(value))
            for name, value in (self.result or {}).items()
            if value is not None and not isinstance(value, dict | list)
        ]

    @property
    def sentences(self) -> list[tuple[str, list[str]]]:
        """What came of it, where it is told in sentences, by name."""
        return [
            (name.replace("_", " ").capitalize(), value)
            for name, value in (self.result or {}).items()
            if value and isinstance(value, list) and all(isinstance(one, str) for one in value)
        ]


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
