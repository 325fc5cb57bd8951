"""Who may do what in which campaign, what people have done, and what limits their requests."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.campaign import Campaign

KEPT_ANSWERS = timedelta(days=30)  # that an answer of the API is known again


class SavedView(models.Model):
    """A list's filters, order and columns, under a name of the person's own."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    path = models.CharField(max_length=200)  # of the list
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "path", "name"], name="one_view_of_a_name")
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.Model):
    """Somebody's part in a campaign; `annotation.access.roles` says what each may do."""

    class Name(models.TextChoices):
        OWNER = "owner"
        MANAGER = "manager"
        ADJUDICATOR = "adjudicator"
        VIEWER = "viewer"
        ANNOTATOR = "annotator"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="roles"
    )
    # None: in every campaign, those to come included.
    campaign = models.ForeignKey(
        Campaign, on_delete=models.CASCADE, null=True, blank=True, related_name="roles"
    )
    name = models.CharField(max_length=11, choices=Name.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "campaign"], name="one_role_in_a_campaign"),
            models.UniqueConstraint(
                fields=["user"], condition=Q(campaign=None), name="one_role_everywhere"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.name} of {self.campaign or 'all campaigns'}"


class AuditEntry(models.Model):
    """What somebody did to money, votes or people: append-only, which triggers see to."""

    class Via(models.TextChoices):
        PAGE = "page"
        API = "api"
        COMMAND = "command"

    at = models.DateTimeField(auto_now_add=True)
    # An account that has acted is deactivated, not deleted. None: by command.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    actor = models.CharField(max_length=150)  # the name at that time
    via = models.CharField(max_length=7, choices=Via.choices)
    verb = models.CharField(max_length=40)
    campaign = models.ForeignKey(
        Campaign, on_delete=models.PROTECT, null=True, blank=True, related_name="audit_entries"
    )
    subject = models.CharField(max_length=200, blank=True)  # whom or what it was done to
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [
            # the log is read from its end
            models.Index(fields=["campaign", "-at"], name="audit_entries_of_a_campaign"),
            models.Index(fields=["-at"], name="audit_entries_by_time"),
            # its filters: what is rare, or never was, is found as fast as what is common
            models.Index(fields=["verb", "-at"], name="audit_entries_by_verb"),
            models.Index(fields=["actor", "-at"], name="audit_entries_by_actor"),
            models.Index(fields=["via", "-at"], name="audit_entries_by_way"),
        ]

    def __str__(self) -> str:
        return f"{self.actor}: {self.verb} {self.subject}".strip()


class Request(models.Model):
    """A request to the API with an idempotency key, and its answer.

    Written before the work is done: without a status it is under way, or was cut off.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)  # of method, address and body
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_use_of_a_key")]

    def __str__(self) -> str:
        return self.key


class Attempt(models.Model):
    """A try that counts against a limit, such as a wrong password; kept as long as it counts."""

    digest = models.CharField(max_length=64)  # of what is limited, a name or an address
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["digest", "at"], name="attempts")]

    def __str__(self) -> str:
        return f"{self.at}"
