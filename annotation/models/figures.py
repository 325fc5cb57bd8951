"""Figures of a campaign at a time: pages read them instead of counting long tables."""

from __future__ import annotations

from django.db import models

from annotation.models.assignment import Assignment, Worker
from annotation.models.campaign import Campaign, Control, Triplet
from annotation.models.hit import Hit
from retrieval.models import Query


class Snapshot(models.Model):
    """Derived after each pass by `annotation.analytics.campaign.snapshots`."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="snapshots")
    at = models.DateTimeField()
    figures = models.JSONField()

    class Meta:
        indexes = [
            # the overview reads the newest, and those of a time
            models.Index(fields=["campaign", "-at"], name="snapshots_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign} at {self.at}"


class ReviewFigures(models.Model):
    """Of a campaign; `annotation.analytics.quality.review_figures` can derive them again."""

    campaign = models.OneToOneField(
        Campaign, on_delete=models.CASCADE, related_name="review_figures"
    )
    at = models.DateTimeField()
    figures = models.JSONField()

    class Meta:
        verbose_name_plural = "review figures"

    def __str__(self) -> str:
        return f"{self.campaign} at {self.at}"


class Workforce(models.Model):
    """All of them together: derived by `annotation.analytics.workers.worker_figures`."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="workforce")
    at = models.DateTimeField()
    figures = models.JSONField()

    def __str__(self) -> str:
        return f"{self.campaign} at {self.at}"


class WorkerFigures(models.Model):
    """One worker's, derived with the campaign's."""

    # The unique index below begins with it.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="worker_figures", db_index=False
    )
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="figures")
    submitted = models.PositiveIntegerField()
    reviewed = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    failure_rate = models.FloatField(null=True)
    near = models.BooleanField()  # one more failed HIT is enough to be excluded
    compared = models.PositiveIntegerField()  # votes that others have a majority against or for
    agreeing = models.PositiveIntegerField()
    agreement = models.FloatField(null=True)
    timed = models.PositiveIntegerField()  # HITs with a time
    median_ms = models.FloatField(null=True)
    hourly_cents = models.PositiveIntegerField(null=True)
    with_behaviour = models.PositiveIntegerField()
    straight = models.PositiveIntegerField()
    straight_share = models.FloatField(null=True)
    changes_per_hit = models.FloatField(null=True)
    reports = models.PositiveIntegerField()
    cannot_judge = models.PositiveIntegerField(
        default=0, db_default=0
    )  # of these, instead of an answer
    fast = models.BooleanField()
    one_answer = models.BooleanField()

    class Meta:
        verbose_name_plural = "worker figures"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "worker"], name="figures_once_per_worker")
        ]

    def __str__(self) -> str:
        return f"{self.worker} in {self.campaign}"


class UntalliedHit(models.Model):
    """A mark: what a pass has followed in this HIT, or what it need not follow, is not yet in the
    tallies below. One of each change, like those for passes.
    """

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.hit}"


class Tally(models.Model):
    """What figures are summed from; derived by `annotation.pipeline.labelling.tallies`."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"tally {self.pk} of {self.campaign}"


class TripletTally(Tally):
    """The first two valid votes of a triplet that has them."""

    triplet = models.OneToOneField(Triplet, on_delete=models.CASCADE, related_name="+")
    query = models.ForeignKey(
        Query, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )  # the triplet's
    pair = models.PositiveSmallIntegerField()  # twice the first one and the second


class AssignmentTally(Tally):
    """How many of its votes stand against a majority of others, and how many agree with it."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="+")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="+", db_index=False)
    compared = models.PositiveSmallIntegerField()
    agreeing = models.PositiveSmallIntegerField()


class ControlTally(Tally):
    """What workers who are not excluded answered to a control."""

    # The unique index below ends with it.
    control = models.ForeignKey(Control, on_delete=models.CASCADE, related_name="+", db_index=False)
    answered = models.PositiveIntegerField()
    yes = models.PositiveIntegerField()
    workers = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["control", "campaign"], name="one_tally_per_control")
        ]


class MeetingTally(Tally):
    """A worker has met a control, of the campaign's own or of the pool, in a HIT."""

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="+")
    control = models.ForeignKey(Control, on_delete=models.CASCADE, related_name="+", db_index=False)
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="+", db_index=False)
    revealed = models.PositiveSmallIntegerField()  # 1 where they were told its answer


class EffortTally(Tally):
    """What `annotation.analytics.workers.effort` sums of an assignment: 0 or 1 where nothing else
    is said.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="+")
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="+", db_index=False)
    reviewed = models.PositiveSmallIntegerField()
    failed = models.PositiveSmallIntegerField()
    with_behaviour = models.PositiveSmallIntegerField()
    straight = models.PositiveSmallIntegerField()
    reports = models.PositiveSmallIntegerField()  # how many
    cannot_judge = models.PositiveSmallIntegerField()  # how many of these
    active_ms = models.PositiveIntegerField(null=True)
    # Nothing where the active time is not known:
    changes = models.PositiveIntegerField()  # how many
    approved = models.PositiveSmallIntegerField()
    paid_ms = models.PositiveIntegerField()  # the active time, once it is decided
    bonus_cents = models.PositiveIntegerField()  # paid, once it is decided


class PairTally(Tally):
    """What two workers said of the triplets that both judged, by the first one's HIT."""

    # The unique index below begins with it.
    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="+", db_index=False)
    first = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="+", db_index=False)
    second = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="+", db_index=False)
    shared = models.PositiveSmallIntegerField()
    yes = models.PositiveSmallIntegerField()  # of the first
    other_yes = models.PositiveSmallIntegerField()
    both_yes = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "first", "second"], name="one_tally_per_pair")
        ]


class RunningCount(models.Model):
    """How many rows of a long table are alike: the sum of what triggers add with each change.

    So nobody waits for another; `annotation.pipeline.labelling.running_counts` merges them.
    """

    # The row's own, which is checked there.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="+", db_constraint=False
    )
    more = models.IntegerField()  # below 0: so many fewer

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"count {self.pk} of {self.campaign}"


class TripletCount(RunningCount):
    """Triplets of one rank that stand alike."""

    rank = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=10)
    label = models.SmallIntegerField(null=True)
    votes = models.PositiveSmallIntegerField()
    cannot_judge = models.PositiveSmallIntegerField()


class AssignmentCount(RunningCount):
    """Assignments of one worker that stand alike."""

    worker = models.ForeignKey(
        Worker, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    status = models.CharField(max_length=9)
    passed = models.BooleanField(null=True)
    failure = models.CharField(max_length=10)
    account = models.CharField(max_length=9)
    price_cents = models.PositiveIntegerField()  # of one
