"""What the site has at Prolific: studies, bonuses whose payment was begun, and who signs events."""

from __future__ import annotations

from django.db import models

from annotation.crowd.inhouse.models import PanelLink, Visit


class Study(models.Model):
    """Written before the study is made: who lost the answer finds it again by the link's key."""

    link = models.OneToOneField(PanelLink, on_delete=models.PROTECT, related_name="study")
    minutes = models.PositiveIntegerField()  # that a visit takes, as participants read it
    study_id = models.CharField(max_length=24, blank=True)
    group_id = models.CharField(max_length=24, blank=True)  # of those who are kept away
    making_since = models.DateTimeField(null=True, blank=True)  # one process makes it there
    strays = models.PositiveIntegerField(default=0)  # submissions that no finished visit explains
    # Of this link, as last read: tasks that its places and its participants still bring.
    coming = models.PositiveIntegerField(default=0)
    # Submissions by which it is full, as last seen active. One that rests with fewer was ended by
    # somebody at Prolific, and stays so.
    full_at = models.PositiveIntegerField(default=0)
    paused = models.BooleanField(default=False)  # by us, until there are tasks again
    at_rest = models.BooleanField(default=False)  # nothing there is to be waited for

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.study_id or f"a study of {self.link}"


class Hook(models.Model):
    """That Prolific sends a workspace's events to this site, and what signs them."""

    workspace_id = models.CharField(max_length=24, unique=True)
    secret = models.CharField(max_length=200, blank=True)  # empty: not subscribed yet
    checked_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.workspace_id


class BonusPayment(models.Model):
    """A bonus, written down before each step that pays it: payment is not idempotent there."""

    token = models.CharField(max_length=64, unique=True)
    visit = models.ForeignKey(Visit, on_delete=models.PROTECT, related_name="bonuses")
    cents = models.PositiveIntegerField()
    bulk_id = models.CharField(max_length=24, blank=True)  # it is set up there
    sent_at = models.DateTimeField(null=True, blank=True)  # when its payment was last asked for
    paid_at = models.DateTimeField(null=True, blank=True)  # it is known to be paid

    def __str__(self) -> str:
        return f"{self.cents} cents for {self.visit}"
