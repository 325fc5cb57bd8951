"""The long jobs that pages and programs ask for."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

# Of a result's names, those that say little to people.
IN_WORDS = {
    "already": "Done before",
    "hits": "HITs",
    "control_auc": "How well controls can be guessed (0.5 is chance)",
}


class Job(models.Model):
    """A long job that a page or a program has asked for; `retrieval.jobs.queue` runs it."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    kind = models.CharField(max_length=30)
    subject = models.CharField(max_length=100, blank=True)  # a campaign's name, a source's
    arguments = models.JSONField(default=dict)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    requested_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED)
    claim = models.CharField(max_length=32, blank=True)  # of the process that runs it
    beat_at = models.DateTimeField(null=True, blank=True)  # the last heartbeat
    attempts = models.PositiveSmallIntegerField(default=0)
    stage = models.CharField(max_length=100, blank=True)  # what is being done, for people
    done = models.PositiveBigIntegerField(default=0)  # of `total`, in this stage
    total = models.PositiveBigIntegerField(null=True, blank=True)  # null: unknown
    result = models.JSONField(null=True, blank=True)  # of a job that is done
    error = models.TextField(blank=True)  # of a job that failed, one sentence
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar = [
            # a page asks for what was asked for last
            models.Index(fields=["subject", "-requested_at"], name="jobs_by_subject"),
            # a worker looks for what is still to be done
            models.Index(
                fields=["requested_at"],
                condition=Q(state__in=["queued", "running"]),
                name="jobs_to_do",
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=Q(state__in=["queued", "running"]),
                name="one_job_of_a_kind_under_way",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}".strip()

    @property
    def title(self) -> str:
        kind = self.kind.replace("-", " ").replace("_", " ").capitalize()
        return f"{kind}: {self.subject}" if self.subject else kind

    @property
    def is_over(self) -> bool:
        return self.state in (self.State.DONE, self.State.FAILED)

    @property
    def count(self) -> str:
        """How far the stage is."""
        so_far = f"{self.done:,}" if self.done else ""
        return f"{self.done:,} of {self.total:,}" if self.total else so_far

    @property
    def figures(self) -> list[tuple[str, str]]:
        """What came of it, for people: its plain values, and flags that are up."""
        return [
            (IN_WORDS.get(name, name.replace("_", " ").capitalize()), _render(value))
            for name, value in (self.result or {}).items()
            if value is not None and value is not False and not isinstance(value, dict | list)
        ]

    @property
    def sentences(self) -> list[tuple[str, list[str]]]:
        """What came of it, where it is told in sentences, by name."""
        return [
            (name.replace("_", " ").capitalize(), value)
            for name, value in (self.result or {}).items()
            if value and isinstance(value, list) and all(isinstance(one, str) for one in value)
        ]


def _render(value: object) -> str:
    if value is True:
        return "Yes"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
