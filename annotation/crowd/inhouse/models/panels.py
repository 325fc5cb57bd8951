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
    note = models.CharField(max_length=100, blank=True)  # that tells it from others of the panel
    # That visits take by the panel's own clock; none where it tells none, or while too few ended.
    median_seconds = models.PositiveIntegerField(null=True, blank=True)
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
        SCREENED = "screened"  # there was no task: a small sum is paid for coming

    link = models.ForeignKey(PanelLink, on_delete=models.PROTECT, related_name="visits")
    # The unique index below begins with it.
    member = models.ForeignKey(
        Member, on_delete=models.PROTECT, related_name="visits", db_index=False
    )
    # The panel's own name of the visit, where it has one; what the panel says of it, once it does.
    session_id = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=9, choices=Outcome.choices, blank=True)
    code = models.CharField(max_length=64)
    surplus_cents = models.PositiveIntegerField(default=0)  # paid, and no task was done for it
    surplus_booked = models.BooleanField(default=False)  # by whose money it is
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
        indexes = [
            # crowds that have studies ask with each pass what is still to be booked
            models.Index(
                fields=["link"],
                condition=Q(surplus_cents__gt=0, surplus_booked=False),
                name="visits_with_a_surplus",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.member} by {self.link}"

    @property
    def is_unpaid(self) -> bool:
        """For its tasks, whatever was done."""
        return self.outcome in (self.Outcome.RETURNED, self.Outcome.SCREENED)
