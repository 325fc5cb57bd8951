"""HITs and their assignments."""

from __future__ import annotations

import json

from django.db import models
from django.db.models import F, Q

from annotation.crowd.inhouse.ids import new_id
from annotation.crowd.inhouse.models.members import Member
from annotation.crowd.inhouse.models.qualifications import HitType, Queue


class PostedHit(models.Model):
    """A HIT that members can take."""

    hit_id = models.CharField(max_length=32, unique=True, default=new_id)
    hit_type = models.ForeignKey(
        HitType, on_delete=models.PROTECT, related_name="posted_hits", db_index=False
    )
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="+", db_index=False)
    annotation = models.CharField(max_length=255)  # the requester's own key of the HIT
    token = models.CharField(max_length=64, unique=True)
    max_assignments = models.PositiveIntegerField()
    open_assignments = models.PositiveIntegerField()  # neither in somebody's hands nor submitted
    is_open = models.BooleanField(default=True)  # false: expired or deleted
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(open_assignments__gte=0, open_assignments__lte=F("max_assignments")),
                name="no_place_given_out_twice",
            ),
        ]
        indexes = [
            # queue.py walks these two: a HIT drops out when it fills up or ends
            models.Index(
                fields=["queue", "id"],
                condition=Q(
                    is_open=True, open_assignments__gt=0, open_assignments__lt=F("max_assignments")
                ),
                name="hits_begun",
            ),
            models.Index(
                fields=["queue", "id"],
                condition=Q(
                    is_open=True, open_assignments__gt=0, open_assignments=F("max_assignments")
                ),
                name="hits_fresh",
            ),
            # leases.py asks which ones have expired
            models.Index(fields=["expires_at"], condition=Q(is_open=True), name="hits_to_expire"),
        ]

    def __str__(self) -> str:
        return self.hit_id


class Extension(models.Model):
    """Assignments added later: kept for its token."""

    posted_hit = models.ForeignKey(PostedHit, on_delete=models.PROTECT, related_name="extensions")
    token = models.CharField(max_length=64, unique=True)
    new_assignments = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.new_assignments} more assignments of {self.posted_hit}"


class Assignment(models.Model):
    """A member has it for a while, then submits or returns it."""

    class Status(models.TextChoices):
        ACCEPTED = "accepted"
        RETURNED = "returned"
        LAPSED = "lapsed"  # its time ran out
        HELD = "held"  # handed in during a visit that is not finished: not yet submitted
        SUBMITTED = "submitted"
        APPROVED = "approved"
        REJECTED = "rejected"

    assignment_id = models.CharField(max_length=32, unique=True, default=new_id)
    posted_hit = models.ForeignKey(
        PostedHit, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    member = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    # During which it was taken, by somebody whom a panel sent.
    visit = models.ForeignKey(
        "inhouse.Visit",
        on_delete=models.PROTECT,
        related_name="assignments",
        null=True,
        blank=True,
        db_index=False,
    )
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.ACCEPTED)
    accepted_at = models.DateTimeField()
    deadline = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True, blank=True)
    # As sent, in ASCII: neither a jsonb nor a text of PostgreSQL holds U+0000.
    answers_json = models.TextField(blank=True)
    feedback = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["posted_hit", "member"],
                condition=~Q(status__in=["returned", "lapsed"]),
                name="one_place_of_a_hit_per_member",
            ),
            # Two clicks on "next" are one: who has a HIT in hand gets no other.
            models.UniqueConstraint(
                fields=["member"], condition=Q(status="accepted"), name="one_hit_in_hand"
            ),
            models.CheckConstraint(
                condition=Q(status__in=["accepted", "returned", "lapsed"], submitted_at=None)
                | Q(
                    status__in=["held", "submitted", "approved", "rejected"],
                    submitted_at__isnull=False,
                ),
                name="submitted_work_has_its_time",
            ),
        ]
        indexes = [
            # queue.py: has this member had this HIT before?
            models.Index(fields=["member", "posted_hit"], name="assignments_of_a_member"),
            # queue.py: which HITs has this member given back?
            models.Index(
                fields=["member"],
                condition=Q(status__in=["returned", "lapsed"]),
                name="assignments_given_back",
            ),
            # adapter.py counts a HIT's assignments
            models.Index(fields=["posted_hit", "status"], name="assignments_of_a_hit"),
            # visits.py: what was done during a visit
            models.Index(
                fields=["visit", "status"],
                condition=Q(visit__isnull=False),
                name="assignments_of_a_visit",
            ),
            # leases.py asks whose time has run out
            models.Index(
                fields=["deadline"], condition=Q(status="accepted"), name="assignments_in_hand"
            ),
            # and which visits were never finished
            models.Index(
                fields=["submitted_at"], condition=Q(status="held"), name="assignments_held"
            ),
        ]

    def __str__(self) -> str:
        return self.assignment_id

    @property
    def answers(self) -> dict[str, str]:
        return dict(json.loads(self.answers_json)) if self.answers_json else {}


SUBMITTED_OR_DECIDED = (
    Assignment.Status.SUBMITTED,
    Assignment.Status.APPROVED,
    Assignment.Status.REJECTED,
)


# By the worker: what they have handed in cannot be given back or handed in again.
HANDED_IN = (Assignment.Status.HELD, *SUBMITTED_OR_DECIDED)


class Bonus(models.Model):
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="bonuses")
    token = models.CharField(max_length=64, unique=True)
    cents = models.PositiveIntegerField()
    reason = models.TextField()
    given_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "bonuses"

    def __str__(self) -> str:
        return f"{self.cents} cents for {self.assignment}"
