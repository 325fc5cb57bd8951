"""What is asked: campaigns, their wording and controls, the triplets and what is known of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.db import models
from django.db.models import F, Q

from annotation.protocol.policy.policy import Policy
from annotation.protocol.policy.tasks import PAPER_TASK, TASKS
from retrieval.models import Candidate, Query, QuerySet


class Campaign(models.Model):
    """One run of the protocol over one set of held-out queries."""

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"  # by hand: nothing more is bought
        CAPPED = "capped"  # at its budget: goes on by itself when the cap is raised
        CANCELLED = "cancelled"  # for good: what is out there is withdrawn

    name = models.SlugField(max_length=60, unique=True)
    # Tells this campaign's HITs and tokens from those of any other database on the same account.
    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    query_set = models.OneToOneField(QuerySet, on_delete=models.PROTECT, related_name="campaign")
    policy_data = models.JSONField()
    seed = models.BigIntegerField()
    # Of the first round only so many HITs are asked for until somebody lets the rest follow.
    first_batch = models.PositiveIntegerField(null=True, blank=True)
    state = models.CharField(max_length=9, choices=State.choices, default=State.ACTIVE)
    endpoint = models.CharField(max_length=200, blank=True)  # set at the first publication
    hit_type_id = models.CharField(max_length=64, blank=True)
    exclusion_id = models.CharField(max_length=64, blank=True)
    known_id = models.CharField(max_length=64, blank=True)  # held by workers with reviewed work
    qualified_id = models.CharField(max_length=64, blank=True)  # held by who passed its test
    # The attacker's AUC on its packed HITs; null: they are too few, or not packed.
    control_leak = models.FloatField(null=True, blank=True)
    # What was predicted of it, see `analytics.campaign.plan`; null: it was made without a plan.
    plan = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        permissions = [
            ("run_campaign", "Can run a campaign within its budget"),
            ("fund_campaign", "Can set a campaign's budget and cancel it"),
            ("manage_workers", "Can exclude, restore, pay, reject and write to workers"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def policy(self) -> Policy:
        return policy_of(self.policy_data)

    @property
    def part_of(self) -> Campaign | None:
        """The campaign whose queries this one judges, for a second crowd; None: its own."""
        whole = self.query_set.part_of
        return Campaign.objects.get(query_set=whole) if whole else None

    @property
    def crowds(self) -> models.QuerySet[Campaign]:
        """The campaigns whose queries are one dataset, the first of them first: often it alone."""
        first = self.query_set.part_of_id or self.query_set_id
        either = Q(query_set=first) | Q(query_set__part_of=first)
        return Campaign.objects.filter(either).select_related("query_set").order_by("pk")


def policy_of(stored: Mapping[str, Any]) -> Policy:
    """Of a campaign's `policy_data`; checked once, for pages ask for it at every row."""
    return _policy(json.dumps(stored))


@lru_cache(maxsize=256)
def _policy(text: str) -> Policy:
    return Policy.from_dict(json.loads(text))


class Instructions(models.Model):
    """A version of the wording that annotators read; never edited, only superseded."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="instructions")
    version = models.PositiveIntegerField()
    text = models.TextField()
    author = models.CharField(max_length=150, blank=True)  # empty: by command
    created_at = models.DateTimeField(auto_now_add=True, null=True)

    class Meta:
        verbose_name_plural = "instructions"
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "version"], name="one_text_per_instructions_version"
            )
        ]

    def __str__(self) -> str:
        return f"{self.campaign} instructions {self.version}"


class Control(models.Model):
    """A triplet whose answer is known: of the shared pool, or a campaign's own.

    A campaign without drafts that somebody confirmed has negatives alone, drawn when it was packed.
    """

    class Kind(models.TextChoices):
        POSITIVE = "positive"
        NEGATIVE = "negative"

    kind = models.CharField(max_length=8, choices=Kind.choices)
    # Whose campaigns share it: what is right for one task may be wrong for another.
    task = models.CharField(
        max_length=11,
        choices=[(name, task.choice) for name, task in TASKS.items()],
        default=PAPER_TASK.name,
        db_default=PAPER_TASK.name,
    )
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="controls"
    )
    key = models.CharField(max_length=64)
    query = models.TextField()
    question = models.TextField()
    answer = models.TextField()
    # For this campaign, and confirmed by a person.
    drafted = models.BooleanField(default=False, db_default=False)
    # Since then it goes into no new HIT; those that hold it are judged by it all the same.
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task", "key"],
                condition=Q(campaign=None, retired_at=None),
                name="one_control_per_pool_key",
            ),
            models.UniqueConstraint(
                fields=["campaign", "key"], name="one_control_per_campaign_key"
            ),
            models.CheckConstraint(
                condition=Q(kind="positive", campaign=None, drafted=False)
                | Q(campaign__isnull=False, drafted=True)
                | Q(kind="negative", campaign__isnull=False),
                name="a_control_is_of_the_pool_or_a_campaign",
            ),
        ]
        indexes = [
            # Few of a campaign's controls are drafted: the others are its HITs' own negatives.
            models.Index(fields=["campaign"], condition=Q(drafted=True), name="drafted_controls"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} control {self.key}"

    @property
    def expected(self) -> int:
        return int(self.kind == self.Kind.POSITIVE)


class Triplet(models.Model):
    """A candidate to be judged, with the label that `derive_label` makes."""

    class Status(models.TextChoices):
        OPEN = "open"
        LABELLED = "labelled"
        UNRESOLVED = "unresolved"

    class LabelSource(models.TextChoices):
        MAJORITY = "majority"  # of its valid votes
        EXPERT = "expert"  # who adjudicated it
        IMPORT = "import"  # it came with the dataset
        AGGREGATOR = "aggregator"  # that the campaign's votes and controls chose

    # The indexes below begin with it.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="triplets", db_index=False
    )
    candidate = models.OneToOneField(Candidate, on_delete=models.PROTECT, related_name="triplet")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    label = models.SmallIntegerField(null=True, blank=True)
    label_source = models.CharField(  # noqa: DJ001 - as the label, null where there is none
        max_length=10, choices=LabelSource.choices, null=True, blank=True
    )
    votes = models.PositiveSmallIntegerField(default=0)
    positive_votes = models.PositiveSmallIntegerField(default=0)
    cannot_judge = models.PositiveSmallIntegerField(
        default=0, db_default=0
    )  # who said so: no votes
    # As it came with a dataset made elsewhere: it stands until votes make a majority.
    imported_label = models.SmallIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(imported_label__in=[0, 1]), name="an_imported_label_is_0_or_1"
            ),
            models.CheckConstraint(
                condition=Q(status="labelled", label__in=[0, 1])
                | (~Q(status="labelled") & Q(label=None)),
                name="a_label_where_and_only_where_labelled",
            ),
            models.CheckConstraint(
                condition=Q(positive_votes__lte=F("votes")), name="positive_votes_among_the_votes"
            ),
        ]
        indexes = [
            # progress counts a campaign's triplets by status, lists walk through one
            models.Index(fields=["campaign", "status", "id"], name="triplets_by_status"),
            # lists walk through all of them
            models.Index(fields=["campaign", "id"], name="triplets_in_order"),
            # review asks for those whose judges disagree
            models.Index(
                fields=["campaign", "id"],
                condition=~Q(status="open")
                & Q(positive_votes__gt=0, positive_votes__lt=F("votes")),
                name="triplets_disagreed_on",
            ),
        ]

    def __str__(self) -> str:
        return f"triplet {self.pk}"


class ExpertLabel(models.Model):
    """What an expert says of a triplet: it stands beside the votes and never counts as one."""

    class Source(models.TextChoices):
        """Where the first label of this expert came from."""

        IMPORT = "import"
        ADJUDICATION = "adjudication"  # of a triplet that was tied, unresolved, or reported
        SAMPLE = "sample"  # of a labelled one that was drawn at random

    triplet = models.ForeignKey(Triplet, on_delete=models.PROTECT, related_name="expert_labels")
    expert = models.CharField(max_length=150)
    label = models.SmallIntegerField()
    # What it was before the expert saw the votes, where they have changed it since.
    blind_label = models.SmallIntegerField(null=True, blank=True)
    source = models.CharField(max_length=12, choices=Source.choices)
    # Given by adjudication, or given again by it: where the policy says so, it decides. What was
    # said blind before, for the sample or in a file, goes on measuring.
    adjudicated = models.BooleanField(default=False)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["triplet", "expert"], name="one_label_per_expert"),
            models.CheckConstraint(condition=Q(label__in=[0, 1]), name="an_expert_says_0_or_1"),
            models.CheckConstraint(
                condition=Q(blind_label__in=[0, 1]), name="an_expert_said_0_or_1"
            ),
            models.CheckConstraint(
                condition=~Q(source="adjudication") | Q(adjudicated=True),
                name="what_came_by_adjudication_is_adjudicated",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label} by {self.expert}"

    def change(self, label: int, note: str) -> None:
        """Unsaved; the page has shown the votes, so the first label is kept for the figures."""
        if self.blind_label is None and label != self.label:
            self.blind_label = self.label
        self.label, self.note = label, note


class ControlCandidate(models.Model):
    """A triplet that all agreed on, as a control: until a person confirms it, it is none."""

    class State(models.TextChoices):
        OPEN = "open"
        CONFIRMED = "confirmed"
        DISMISSED = "dismissed"

    triplet = models.OneToOneField(
        Triplet, on_delete=models.CASCADE, related_name="control_candidate"
    )
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    control = models.OneToOneField(
        Control, on_delete=models.PROTECT, null=True, blank=True, related_name="control_candidate"
    )

    def __str__(self) -> str:
        return f"{self.triplet}: {self.state}"


class ControlDraft(models.Model):
    """A control made of the campaign's own texts: until a person confirms it, it is none."""

    State = ControlCandidate.State

    class Origin(models.TextChoices):
        COPY = "copy", "a pair with the query's own answer"
        REWORDING = "rewording", "the query in other words"
        RANK = "rank", "a pair far below the candidates"
        GIVEN = "given", "in words that somebody gave"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="control_drafts")
    kind = models.CharField(max_length=8, choices=Control.Kind.choices)
    origin = models.CharField(max_length=9, choices=Origin.choices)
    query = models.ForeignKey(Query, on_delete=models.CASCADE, related_name="control_drafts")
    question = models.TextField()
    answer = models.TextField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    control = models.OneToOneField(
        Control, on_delete=models.PROTECT, null=True, blank=True, related_name="control_draft"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "question"], name="a_question_drafted_once")
        ]
        indexes = [
            # a person goes through those that wait
            models.Index(fields=["campaign", "state", "id"], name="drafts_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} draft {self.pk}: {self.state}"
