"""The vectors that several workers make together."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from retrieval.models.index import IndexVersion


class EncodingJob(models.Model):
    """Vectors that the workers make together for the builds of a store, shard by shard."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    # The folder's name, which is made of the identity.
    store = models.CharField(max_length=40, unique=True)
    # What every worker's encoder must be, and the name it loads it by.
    identity = models.JSONField()
    model = models.CharField(max_length=IndexVersion.MAX_MODEL)
    state = models.CharField(max_length=7, choices=State.choices, default=State.RUNNING)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.store}, {self.state}"


class EncodingShard(models.Model):
    """Some pairs, encoded by the worker that claims them."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    job = models.ForeignKey(EncodingJob, on_delete=models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    keys = models.BinaryField()  # of the pairs, 32 bytes each; emptied once they are encoded
    pairs = models.PositiveIntegerField()
    state = models.CharField(max_length=7, choices=State.choices, default=State.QUEUED)
    claim = models.CharField(max_length=32, blank=True)  # of the process that is at it
    beat_at = models.DateTimeField(null=True, blank=True)  # when it last said so
    attempts = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)  # pairs encoded by the present worker
    error = models.TextField(blank=True)  # of the last attempt that failed, one sentence
    shard = models.JSONField(null=True, blank=True)  # its record, once it is done

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "number"], name="encoding_shard_once"),
            models.CheckConstraint(
                condition=Q(state="done", shard__isnull=False)
                | (~Q(state="done") & Q(shard__isnull=True)),
                name="encoding_is_done_with_a_shard",
            ),
        ]
        ordering: ClassVar = ["job", "number"]

    def __str__(self) -> str:
        return f"shard {self.number} of {self.job}"
