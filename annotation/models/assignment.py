"""What workers did: the crowd's assignment record is the only source of votes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from django.db import models
from django.db.models import Case, ExpressionWrapper, F, Q, QuerySet, Value, When

from annotation.models.campaign import Campaign, Triplet
from annotation.models.hit import Hit, HitItem
from annotation.protocol.labels.valid_votes import NEEDS, VoidReason, VoteFacts
from annotation.protocol.screening.behaviour import REASONS
from annotation.protocol.screening.control import RejectionReason

Row = TypeVar("Row", bound=models.Model)


class Worker(models.Model):
    """A person as a crowd names them."""

    crowd = models.CharField(max_length=20)
    worker_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["crowd", "worker_id"], name="one_row_per_worker")
        ]

    def __str__(self) -> str:
        return self.worker_id


class Assignment(models.Model):
    """One worker's work on one HIT, as the crowd recorded it, and what our review found."""

    class Status(models.TextChoices):
        SUBMITTED = "submitted"
        APPROVED = "approved"
        REJECTED = "rejected"

    class Booked(models.TextChoices):
        RESERVED = "", "reserved"
        PAID = "paid"
        DISCARDED = "discarded"  # paid, its votes do not count
        RELEASED = "released"

    # The constraint below begins with it.
    hit = models.ForeignKey(
        Hit, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments")
    crowd_id = models.CharField(max_length=64)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.SUBMITTED)
    accepted_at = models.DateTimeField()
    submitted_at = models.DateTimeField()
    answers = models.JSONField()  # form field -> value, unchecked
    passed = models.BooleanField(null=True)  # None: not reviewed yet
    # Why it failed: the key of its RejectionReason, whether the work is then rejected or paid.
    failure = models.CharField(max_length=10, blank=True, default="")
    # Where the money of its place is: reserved until the decision is known.
    account = models.CharField(max_length=9, choices=Booked.choices, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "worker"], name="one_assignment_per_worker"),
            models.UniqueConstraint(fields=["crowd_id"], name="one_assignment_per_crowd_id"),
            models.CheckConstraint(
                # `passed` may be null, and a check that is null holds.
                condition=Q(passed=False, passed__isnull=False) & ~Q(failure="")
                | (Q(passed=True) | Q(passed=None)) & Q(failure=""),
                name="a_failure_has_its_reason",
            ),
        ]
        indexes = [
            # review asks for what is not yet reviewed, in order of submission
            models.Index(
                fields=["submitted_at"], condition=Q(passed=None), name="assignments_to_review"
            ),
            # the ledger asks for what was decided and is not booked yet
            models.Index(
                fields=["hit"],
                condition=Q(account="") & ~Q(status="submitted"),
                name="assignments_to_book",
            ),
            # programs walk through those of one status, and those that passed or failed
            models.Index(fields=["status", "id"], name="assignments_by_status"),
            models.Index(fields=["passed", "id"], name="assignments_by_controls"),
        ]

    def __str__(self) -> str:
        return self.crowd_id

    @classmethod
    def with_rejection(cls, rows: QuerySet[Row]) -> QuerySet[Any]:
        """Each with `rejection`, the key of the RejectionReason why its votes do not count.

        Assignments, or counts of them. What passed was rejected by a person, here or at the crowd.
        """
        failed = When(passed=False, then=F("failure"))
        rejected = When(status=cls.Status.REJECTED, then=Value(RejectionReason.MANUAL.key))
        return rows.annotate(rejection=Case(failed, rejected, default=Value("")))

    @property
    def rejection_label(self) -> str:
        """Of a row `with_rejection`."""
        key = getattr(self, "rejection", "")
        return RejectionReason[key.upper()].label if key else ""

    def facts(self, excluded: Collection[int], *, if_paid: bool = False) -> VoteFacts:
        """What decides whether its votes count. `excluded`: the campaign's workers who are.

        `if_paid`: as if the crowd paid the work after all.
        """
        return VoteFacts(
            excluded=self.worker_id in excluded,
            rejected=self.status == self.Status.REJECTED and not if_paid,
            passed=self.passed,
            took=self.submitted_at - self.accepted_at,
        )

    @classmethod
    def valid(
        cls,
        rows: QuerySet[Row],
        *campaigns: Campaign,
        path: str = "",
        but_for: VoidReason | None = None,
    ) -> QuerySet[Row]:
        """Of `rows`, those whose work's votes count, `path` leading to it.

        `campaigns`: those of the rows, whose workers are of different crowds.
        `but_for`: as if this reason made no vote void.
        """
        out = Exclusion.in_force(*campaigns).values("worker")
        facts = {
            "excluded": _as_boolean(**{f"{path}worker__in": out}),
            "rejected": _as_boolean(**{f"{path}status": cls.Status.REJECTED}),
            "passed": F(f"{path}passed"),
            "took": ExpressionWrapper(
                F(f"{path}submitted_at") - F(f"{path}accepted_at"), models.DurationField()
            ),
        }
        for reason, (fact, lookup, value) in NEEDS.items():
            if reason is not but_for:
                rows = rows.alias(**{f"_{fact}": facts[fact]})
                rows = rows.filter(**{f"_{fact}__{lookup}": value})
        return rows


def _as_boolean(**conditions: object) -> ExpressionWrapper[Q]:
    return ExpressionWrapper(Q(**conditions), models.BooleanField())


class Judgment(models.Model):
    """One worker's 0 or 1 on one item."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="judgments")
    # The constraints below begin with item and triplet.
    item = models.ForeignKey(
        HitItem, on_delete=models.PROTECT, related_name="judgments", db_index=False
    )
    # The item's, for the constraint alone: a triplet may stand in several HITs, and nobody judges
    # it twice. None: a control. The database checks the item, and the assignment for the worker:
    # this is the longest table, and to check both again takes as long as to write it.
    triplet = models.ForeignKey(
        Triplet,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="judgments",
        db_index=False,
        db_constraint=False,
    )
    # The assignment's, by which a worker's judgments are found.
    worker = models.ForeignKey(
        Worker,
        on_delete=models.PROTECT,
        related_name="judgments",
        db_index=False,
        db_constraint=False,
    )
    value = models.SmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "worker"], name="one_judgment_per_worker"),
            models.UniqueConstraint(fields=["triplet", "worker"], name="a_triplet_once_per_worker"),
            models.CheckConstraint(condition=Q(value__in=[0, 1]), name="a_judgment_is_0_or_1"),
        ]

    def __str__(self) -> str:
        return f"{self.value}"


class Exclusion(models.Model):
    """A worker excluded from a campaign; none of their votes counts in it."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="exclusions")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="exclusions")
    failures = models.PositiveIntegerField()  # when the rate was crossed
    reviewed = models.PositiveIntegerField()
    reason = models.TextField(blank=True)  # as given by hand; empty: the rate was crossed
    created_at = models.DateTimeField(auto_now_add=True)
    restored_at = models.DateTimeField(null=True, blank=True)  # taken back by hand

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "worker"],
                condition=Q(restored_at=None),
                name="excluded_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.worker} failed {self.failures} of {self.reviewed}"

    @classmethod
    def in_force(cls, *campaigns: Campaign) -> models.QuerySet[Exclusion]:
        return cls.objects.filter(campaign__in=campaigns, restored_at=None)


class Behaviour(models.Model):
    """How one assignment was done, as the worker's browser tells it: evidence, never proof."""

    assignment = models.OneToOneField(
        Assignment, on_delete=models.CASCADE, related_name="behaviour"
    )
    active_ms = models.PositiveIntegerField(null=True)  # null: the browser told nothing usable
    item_ms = models.JSONField(default=dict)  # item key -> milliseconds
    changes = models.PositiveIntegerField(default=0)  # answers taken back for the other one
    straight = models.BooleanField(default=False)  # the same answer to every item

    def __str__(self) -> str:
        return f"behaviour of {self.assignment}"


class ItemReport(models.Model):
    """A worker's word that something is wrong with an item, or why they can't judge it."""

    class Reason(models.TextChoices):
        UNCLEAR = "unclear", REASONS["unclear"]
        KNOWLEDGE = "knowledge", REASONS["knowledge"]
        OFFENSIVE = "offensive", REASONS["offensive"]
        PERSONAL = "personal", REASONS["personal"]
        LANGUAGE = "language", REASONS["language"]
        OTHER = "other", REASONS["other"]

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="reports")
    item = models.ForeignKey(HitItem, on_delete=models.PROTECT, related_name="reports")
    reason = models.CharField(max_length=9, choices=Reason.choices)
    text = models.CharField(max_length=500, blank=True)
    cannot_judge = models.BooleanField(default=False, db_default=False)  # this, and no judgment

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "item"], name="one_report_per_item")
        ]
        indexes = [
            # labels ask for these alone, and there are few
            models.Index(fields=["item"], condition=Q(cannot_judge=True), name="cannot_be_judged")
        ]

    def __str__(self) -> str:
        return f"{self.reason}: {self.item}"
