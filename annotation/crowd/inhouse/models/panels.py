"""How people come from a panel, and what they bring back to it."""

from __future__ import annotations

import secrets

from django.db import models
from django.db.models import F, Q

from annotation.crowd.inhouse.ids import new_id
from annotation.crowd.inhouse.models.members import Member
from annotation.crowd.inhouse.models.qualifications import Queue


def new_code() -> str:
    """Without letters and digits that look alike: some people type it."""
    return "".join(secrets.choice("ACDEFGHJKLMNPQRTUVWXY3479") for _ in range(10))


class PanelLink(models.Model):
    """The address by which a panel sends people to one campaign."""

    key = models.CharField(max_length=32, unique=True, default=new_id)
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="panel_links")
    panel = models.CharField(max_length=16)
    parameter = models.CharField(max_length=64)  # of the address, that says who comes
    tasks = models.PositiveIntegerField()  # of one visit
    code = models.CharField(max_length=64, blank=True)  # empty: each visit has one of its own
    return_url = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.key


class Participant(models.Model):
    """Whom the panel knows by another name; it is kept until it is to be forgotten."""

    member = models.OneToOneField(Member, on_delete=models.PROTECT, related_name="participant")
    panel = models.CharField(max_length=48)
    external_id = models.CharField(max_length=128)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["panel", "external_id"], name="one_member_per_person")
        ]

    def __str__(self) -> str:
        return self.external_id


class Visit(models.Model):
    """One person's tasks by one link, up to the code."""

    class Outcome(models.TextChoices):
        CONFIRMED = "confirmed"  # completed: what was done is submitted
        APPROVED = "approved"
        REJECTED = "rejected"
        RETURNED = "returned"  # or timed out: nobody is paid

    link = models.ForeignKey(PanelLink, on_delete=models.PROTECT, related_name="visits")
    # The unique index below begins with it.
    member = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="visits", db_index=False
    )
    # The panel's own name of the visit, where it has one; what the panel says of it, once it does.
    session_id = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=9, choices=Outcome.choices, blank=True)
    code = models.CharField(max_length=64)
    arrived_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["member", "link", "session_id"], name="one_visit_per_link"
            ),
            models.UniqueConstraint(
                fields=["session_id"],
                condition=~Q(session_id=""),
                name="one_visit_per_session",
            ),
            models.CheckConstraint(
                condition=Q(finished_at=None) | Q(finished_at__gte=F("arrived_at")),
                name="finished_after_arrival",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.member} by {self.link}"
