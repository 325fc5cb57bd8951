"""What workers see: HITs and their items."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.campaign import Campaign, Control, Instructions, Triplet


class Hit(models.Model):
    """Seven items for one sitting. `crowd_id` is empty until the crowd has it."""

    # Constraints below begin with the campaign: no index of its own.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, related_name="hits", db_index=False
    )
    # Unique by a constraint, here and in other long tables: Django's own `unique` makes a second
    # index, for prefixes, which nobody asks for.
    key = models.CharField(max_length=64)
    number = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    instructions = models.ForeignKey(Instructions, on_delete=models.PROTECT)
    max_assignments = models.PositiveSmallIntegerField()  # assignments asked for so far
    # Assignments that it has: a trigger counts them.
    submitted = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    price_cents = models.PositiveIntegerField()  # of one approved assignment, the fee included
    # Places for the breaking of ties: their money is reserved, they are not asked for yet.
    tie_reserve = models.PositiveSmallIntegerField(default=0)
    repack = models.BooleanField(default=False)  # triplets of other HITs, to be judged once more
    # Primary keys of their earlier workers.
    excluded_workers = models.JSONField(default=list, blank=True)
    crowd_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 - none yet
    published_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)  # then nobody can accept it any more
    closed_at = models.DateTimeField(null=True, blank=True)  # since then nobody can submit it
    gone = models.BooleanField(default=False)  # the crowd does not know it any more
    fault = models.TextField(blank=True)  # why its record could not be read
    fault_at = models.DateTimeField(null=True, blank=True)  # since then

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_hit_per_number"),
            models.UniqueConstraint(fields=["key"], name="one_hit_per_key"),
            models.UniqueConstraint(fields=["crowd_id"], name="one_hit_per_crowd_id"),
        ]
        indexes = [
            # the milestones ask for the last of the first round, lists walk through one round
            models.Index(fields=["campaign", "repack", "number"], name="hits_by_round"),
            # each pass asks whether any is left to publish
            models.Index(
                fields=["campaign", "number"],
                condition=Q(crowd_id=None, repack=False),
                name="hits_to_publish",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class HitItem(models.Model):
    """One of a HIT's items: a triplet to judge or a control."""

    # The constraints and the index below begin with these three.
    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=32)  # the only name a worker's browser sees
    triplet = models.ForeignKey(
        Triplet,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="items",
        db_index=False,
    )
    control = models.ForeignKey(
        Control,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="items",
        db_index=False,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "position"], name="one_item_per_position"),
            models.UniqueConstraint(fields=["triplet", "hit"], name="a_triplet_once_per_hit"),
            models.UniqueConstraint(fields=["key"], name="one_item_per_key"),
            models.CheckConstraint(
                condition=Q(triplet=None, control__isnull=False)
                | Q(triplet__isnull=False, control=None),
                name="an_item_is_a_triplet_or_a_control",
            ),
        ]
        indexes = [
            # a control's page walks through its items in order; those of triplets are far more
            models.Index(
                fields=["control", "id"],
                condition=Q(control__isnull=False),
                name="items_of_a_control",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class ChangedHit(models.Model):
    """A mark: since a pass last looked at the HIT, something changed that others follow from.

    Triggers write it in the transaction of the change, a pass takes it off in its own. One of each
    change, so that a pass takes off no mark that it has not seen.
    """

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="changes")
    # A pass has written the labels that follow; what it could not ask for yet, a later one does.
    waits = models.BooleanField(default=False, db_default=False)
    # The votes were counted since. They are counted again when a pass has written the labels.
    tallied = models.BooleanField(default=False, db_default=False)

    def __str__(self) -> str:
        return f"change of {self.hit}"
