"""Who may take which HITs, and for what reward."""

from __future__ import annotations

from django.db import models

from annotation.crowd.inhouse.ids import new_id
from annotation.crowd.inhouse.models.members import Member
from annotation.protocol.policy.crowds import INHOUSE


class Qualification(models.Model):
    qualification_id = models.CharField(max_length=32, unique=True, default=new_id)
    name = models.CharField(max_length=200, unique=True)
    description = models.TextField()

    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """A qualification that a member holds."""

    qualification = models.ForeignKey(
        Qualification, on_delete=models.PROTECT, related_name="grants"
    )
    # The unique index below begins with it.
    member = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="grants", db_index=False
    )
    value = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["member", "qualification"], name="a_qualification_once_per_member"
            )
        ]

    def __str__(self) -> str:
        return f"{self.qualification}: {self.value}"


class Block(models.Model):
    """The member gets no work at all."""

    member = models.OneToOneField(Member, on_delete=models.PROTECT, related_name="block")
    reason = models.TextField()

    def __str__(self) -> str:
        return f"{self.member} is blocked"


class Queue(models.Model):
    """HITs that a member sees as one line: their types differ at most in whom they exclude."""

    crowd = models.CharField(max_length=16, default=INHOUSE.kind)

    queue_id = models.CharField(max_length=32, unique=True, default=new_id)
    digest = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=128)
    description = models.TextField()
    reward_cents = models.PositiveIntegerField()
    assignment_seconds = models.PositiveIntegerField()
    exclusion = models.ForeignKey(
        Qualification, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    qualified = models.ForeignKey(
        Qualification, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    def __str__(self) -> str:
        return self.title


class HitType(models.Model):
    """A spec of the port: equal specs, equal type."""

    type_id = models.CharField(max_length=32, unique=True, default=new_id)
    digest = models.CharField(max_length=64, unique=True)
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="hit_types")
    # Set only where some workers are excluded: then only its holders may work.
    known = models.ForeignKey(
        Qualification, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    def __str__(self) -> str:
        return self.type_id


class ExcludedWorker(models.Model):
    """A value of the type's `known` qualification whose holders may not work."""

    hit_type = models.ForeignKey(
        HitType, on_delete=models.CASCADE, related_name="excluded_workers", db_index=False
    )
    number = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit_type", "number"], name="excluded_worker_once")
        ]

    def __str__(self) -> str:
        return f"{self.number}"
