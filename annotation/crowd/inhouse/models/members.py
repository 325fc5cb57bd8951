"""Who belongs to the in-house crowd."""

from __future__ import annotations

import secrets
import string
from typing import cast

from django.conf import settings
from django.db import models
from django.db.models import F, Q, QuerySet

from annotation.protocol.policy.crowds import CROWDS, INHOUSE, CrowdKind, CrowdTraits

WORKER_ID_ALPHABET = string.ascii_uppercase + string.digits
WORKER_ID_LENGTH = 12


def new_worker_id() -> str:
    return "".join(secrets.choice(WORKER_ID_ALPHABET) for _ in range(WORKER_ID_LENGTH))


class Member(models.Model):
    """Somebody who works here, of the team or sent by a panel.

    The pipeline knows the `worker_id` alone.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="member"
    )
    crowd = models.CharField(max_length=16, default=INHOUSE.kind)
    worker_id = models.CharField(max_length=16, unique=True, default=new_worker_id)
    active = models.BooleanField(default=True)
    joined_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.worker_id

    @property
    def crowd_traits(self) -> CrowdTraits:
        return CROWDS[cast(CrowdKind, self.crowd)]

    @property
    def is_of_team(self) -> bool:
        return self.crowd_traits.is_team

    @classmethod
    def team(cls) -> QuerySet[Member]:
        """Who was invited here."""
        return cls.objects.filter(crowd=INHOUSE.kind)


class Invitation(models.Model):
    """A link that makes members; of its code only the digest is kept."""

    digest = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)
    email = models.EmailField(blank=True)  # where its link was mailed
    created_by = models.ForeignKey(  # none: by command
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    max_uses = models.PositiveIntegerField()
    uses = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(uses__lte=F("max_uses")), name="no_more_members_than_invited"
            )
        ]

    def __str__(self) -> str:
        return self.note or f"invitation {self.pk}"


class Notice(models.Model):
    """What the people who run a campaign have written to a member."""

    member = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="notices", db_index=False
    )
    token = models.CharField(max_length=64, unique=True)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    sent_at = models.DateTimeField()

    class Meta:
        # the work page shows a member's newest
        indexes = [models.Index(fields=["member", "-sent_at"], name="notices_of_a_member")]

    def __str__(self) -> str:
        return self.subject
