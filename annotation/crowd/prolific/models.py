"""What the site has at Prolific: studies, bonuses whose payment was begun, and who signs events."""

from __future__ import annotations

from django.db import models
from django.db.models import Sum

from annotation.crowd.inhouse.models import PanelLink, Queue, Visit


class Study(models.Model):
    """Written before the study is made: who lost the answer finds it again by the link's key."""

    link = models.OneToOneField(PanelLink, on_delete=models.PROTECT, related_name="study")
    minutes = models.PositiveIntegerField()  # that a visit takes, as participants read it
    study_id = models.CharField(max_length=24, blank=True)
    group_id = models.CharField(max_length=24, blank=True)  # of those who are kept away
    # Whose tasks they have done well who alone may come, and the group of these; none: everybody.
    known_from = models.ForeignKey(
        Queue, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    known_group_id = models.CharField(max_length=24, blank=True)
    is_secure = models.BooleanField(default=False)  # Prolific signs who comes
    workspace_id = models.CharField(max_length=24, blank=True)  # it belongs to
    making_since = models.DateTimeField(null=True, blank=True)  # one process makes it there
    screen_out_cents = models.PositiveIntegerField(default=0)  # 0: nobody is screened out
    screen_out_code = models.CharField(max_length=64, blank=True)
    strays = models.PositiveIntegerField(default=0)  # submissions that no finished visit explains
    return_reason = models.TextField(blank=True)  # for which these are now asked to return it
    asked_back = models.PositiveIntegerField(default=0)  # who were asked, of the strays
    promised = models.PositiveIntegerField(default=0)  # pay for coming, of the strays that wait
    # Those among the strays that were screened out, and so paid, by the code of somebody who came.
    passed_on = models.JSONField(default=list, blank=True)
    # Submissions that were approved there, though no visit explains them.
    approved_unseen = models.JSONField(default=list, blank=True)
    # Cents by Prolific's own bill, once all that was paid is on it.
    billed = models.DecimalField(max_digits=14, decimal_places=4, null=True, blank=True)
    # Of this link, as last read: tasks that its places and its participants still bring.
    coming = models.PositiveIntegerField(default=0)
    # Submissions by which it is full, as last seen active. One that rests with fewer was ended by
    # somebody at Prolific, and stays so.
    full_at = models.PositiveIntegerField(default=0)
    paused = models.BooleanField(default=False)  # by us, until there are tasks again
    held = models.BooleanField(default=False)  # by somebody there, until they start it
    at_rest = models.BooleanField(default=False)  # nothing there is to be waited for

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.study_id or f"a study of {self.link}"

    @property
    def to_ask_back(self) -> int:
        """Submissions that wait there, and that nobody was asked to return."""
        return self.strays - len(self.passed_on) - self.promised - self.asked_back

    @property
    def paid_unseen(self) -> dict[str, int]:
        """Cents that Prolific paid, by submissions that no visit explains."""
        return {
            **dict.fromkeys(self.passed_on, self.screen_out_cents),
            **dict.fromkeys(self.approved_unseen, self.visit_cents),
        }

    @property
    def visit_cents(self) -> int:
        """That a visit is paid, all of its tasks."""
        return self.link.tasks * self.link.queue.reward_cents

    @property
    def paid_cents(self) -> int:
        """For visits, bonuses apart."""
        of_link = self.link.visits
        approved = of_link.filter(outcome=Visit.Outcome.APPROVED).count()
        screened = of_link.filter(outcome=Visit.Outcome.SCREENED).count()
        seen = approved * self.visit_cents + screened * self.screen_out_cents
        return seen + sum(self.paid_unseen.values())

    @property
    def bonus_cents(self) -> int:
        paid = BonusPayment.objects.filter(visit__link=self.link).exclude(paid_at=None)
        return paid.aggregate(cents=Sum("cents"))["cents"] or 0


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
