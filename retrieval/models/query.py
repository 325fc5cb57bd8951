"""The queries, and the candidates that were found for them."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from retrieval.models.corpus import Corpus
from retrieval.models.index import IndexVersion
from retrieval.models.pair import QaPair
from retrieval.ranking.fusion import ALONE


class QuerySet(models.Model):
    class Origin(models.TextChoices):
        SAMPLE = "sample", "sampled from the database"
        FILE = "file", "given in a file"
        IMPORT = "import", "labelled elsewhere"
        POOL_DEPTH = "depth", "drawn from another query set, to judge what its ranks leave out"
        ANSWERS = "answer", "given in a file, with the answers to be judged"
        PAIRS = "pairs", "pairs sampled from the database, each under its own question"
        COPY = "copy", "drawn from another query set with candidates, to judge them once more"

    RETRIEVED = (Origin.SAMPLE, Origin.FILE, Origin.POOL_DEPTH)  # the others bring candidates

    name = models.CharField(max_length=100, unique=True)
    # Its queries, candidates and controls come from here alone; None: from all pairs.
    corpus = models.ForeignKey(
        Corpus, on_delete=models.PROTECT, null=True, blank=True, related_name="query_sets"
    )
    origin = models.CharField(max_length=6, choices=Origin.choices)
    # Of a pool depth study or a copy: the query set its queries come from.
    drawn_from = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="drawn_sets"
    )
    # Its queries were taken out of this one, for another crowd to judge: one dataset still.
    part_of = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="parts"
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
                condition=Q(origin__in=["sample", "depth", "copy", "pairs"], seed__isnull=False)
                | Q(origin__in=["file", "import", "answer"], seed__isnull=True),
                name="query_set_seeded_iff_sampled",
            ),
            models.CheckConstraint(
                condition=Q(origin__in=["depth", "copy"], drawn_from__isnull=False)
                | (~Q(origin__in=["depth", "copy"]) & Q(drawn_from__isnull=True)),
                name="query_set_drawn_from_iff_drawn",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def brings_candidates(self) -> bool:
        """It came with its candidates, of any number a query: none are retrieved."""
        return self.origin not in self.RETRIEVED

    @property
    def whole(self) -> models.QuerySet["Query"]:
        """Its queries and those of its other parts: all were held out of the search for each."""
        first = self.part_of_id or self.pk
        return Query.objects.filter(Q(query_set=first) | Q(query_set__part_of=first))

    @property
    def retrievers(self) -> tuple[str, ...]:
        """By whom its candidates were found; the dense one where nothing says another."""
        return tuple(self.retrieval.get("retrievers", ALONE))

    @property
    def recall_warning(self) -> str:
        """Where the index found less of these queries than it was built for; else empty."""
        if "searched" not in self.retrieval:
            return ""
        recall = self.retrieval["recall"]
        return (
            f"The index found {recall['value']:.4f} of the {recall['at']} nearest pairs of "
            f"{recall['sample']:,} queries, below the {recall['wanted']:g} requested: all were "
            "compared instead. Build the index again with `quorum index build`, using another "
            "--kind or a higher --recall."
        )

    @property
    def pool(self) -> tuple[str, ...]:
        """The retrievers that its candidates tell of: none where the dense one alone found all."""
        names = tuple(self.retrieval.get("retrievers", ()))
        return names if self.brings_candidates or names != ALONE else ()


class Query(models.Model):
    query_set = models.ForeignKey(QuerySet, on_delete=models.CASCADE, related_name="queries")
    key = models.CharField(max_length=64)
    text = models.TextField()
    question_key = models.CharField(max_length=64, db_index=True)
    position = models.PositiveIntegerField()
    # Of a labelled dataset: the split that it was published in. Empty: none is known.
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
    # Null: of a labelled dataset that has none.
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
