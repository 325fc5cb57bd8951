"""Encoding spread over Celery workers. The database is the queue; the waiting command is the clock.

1. The process that builds an index puts pairs without a vector into rows, one a shard.
2. A worker claims a row by one update, encodes its pairs and writes the shard (`encoding_work`).
3. The builder sends the rows that nobody is at to the queue, again and again, and takes the shards
   as they come. Killed, it is run again: shards that are done lie in the store, workers go on.
"""

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, Max, Q, Sum, When
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from core.errors import UserError
from core.leases import MOST_ATTEMPTS, free
from core.progress import Progress, no_progress
from retrieval.indexing import encode
from retrieval.indexing.shard_worker import keys_of
from retrieval.models import EncodingJob, EncodingShard
from retrieval.vectors.remote import fetch_missing
from retrieval.vectors.shards import Identity, Shard, verify_shard
from retrieval.vectors.types import PairKeys, positions_in

QUEUE = "encoding"
TASK = "quorum.encode_shard"
START = f"start one by `celery --app config worker --queues {QUEUE}`"
POLL_SECONDS = 1.0
SENT_AT_ONCE = 100  # more than all workers take up before the next are sent
SILENCE_SECONDS = 180.0  # without any worker at work
ROWS = 8  # written at once, half a megabyte each
SHARE = (
    "a worker has written it elsewhere; let all share the data folder, or name one place for all "
    "by QUORUM_VECTORS"
)
GIVEN_UP = "The process was killed, perhaps out of memory: see the log."

State = EncodingShard.State


def spread(
    folder: Path,
    identity: Identity,
    missing: PairKeys,
    *,
    model: str,
    progress: Progress = no_progress,
) -> Iterator[Shard]:
    """What `encode_missing` yields, made by the workers; UserError where they cannot make it.

    `model` is the name by which they load the encoder of this identity.
    """
    job = _begin(folder, identity, missing, model)
    watch = Watch(job, progress)
    taken = pairs = 0
    while True:
        unfinished = watch.poll()
        for row in _done_in_turn(job, taken):
            yield _brought(folder, row)
            taken, pairs = taken + 1, pairs + row.pairs
        if not unfinished:
            break
        time.sleep(POLL_SECONDS)
    if pairs != len(missing):  # the rows are not those that were begun
        raise UserError(
            "Another command is encoding the same pairs: wait until it is done, then run this "
            "one again. Encoded pairs are kept."
        )
    EncodingJob.objects.filter(pk=job.pk).update(state=EncodingJob.State.DONE)


class Watch:
    """Sends what nobody is at, tells how far the workers are, and notices that they are not."""

    def __init__(self, job: EncodingJob, progress: Progress) -> None:
        self._job = job
        self._progress = progress
        self._reported = 0
        self._sent_at = -math.inf
        self._alive_at = time.monotonic()

    def poll(self) -> bool:
        """Whether there is anything left to wait for."""
        now = time.monotonic()
        self._refuse_failed()
        if now - self._sent_at >= settings.LOOK_SECONDS:
            self._send()
            self._sent_at = now
        self._report()
        unfinished = self._job.shards.exclude(state=State.DONE)
        if unfinished.exclude(free(timezone.now())).exists():
            self._alive_at = now
        if now - self._alive_at > max(SILENCE_SECONDS, 2 * settings.PASS_SECONDS):
            raise UserError(
                f"For {now - self._alive_at:.0f} seconds no worker has taken a shard to encode: "
                f"{START}, then run the command again."
            )
        return unfinished.exists()

    def _refuse_failed(self) -> None:
        exhausted = self._job.shards.filter(free(timezone.now()), attempts__gte=MOST_ATTEMPTS)
        exhausted.filter(error="").update(state=State.FAILED, error=GIVEN_UP)
        exhausted.update(state=State.FAILED)
        if failed := self._job.shards.filter(state=State.FAILED).first():
            EncodingJob.objects.filter(pk=self._job.pk).update(state=EncodingJob.State.FAILED)
            raise UserError(
                f"The workers have tried {failed.attempts} times to encode {failed.pairs:,} of the "
                f"pairs and failed. {failed.error} Fix that and run the command again. Encoded "
                "pairs are kept."
            )

    def _send(self) -> None:
        waiting = self._job.shards.filter(free(timezone.now())).values_list("pk", flat=True)
        try:
            for shard_id in waiting[:SENT_AT_ONCE]:
                # One that found no free worker until then has been sent again.
                current_app.send_task(
                    TASK, (shard_id,), queue=QUEUE, expires=max(60.0, settings.PASS_SECONDS)
                )
        except BrokerError as error:
            raise UserError(
                f"The broker cannot be reached ({' '.join(str(error).split())}): check "
                "QUORUM_BROKER_URL and run the command again; workers continue with what they have."
            ) from error

    def _report(self) -> None:
        """A shard taken over begins again: nothing is counted twice."""
        each = Case(When(state=State.DONE, then=F("pairs")), default=F("done"))
        done = self._job.shards.aggregate(done=Sum(each))["done"] or 0
        if done > self._reported:
            self._progress(done - self._reported)
            self._reported = done


def _begin(folder: Path, identity: Identity, missing: PairKeys, model: str) -> EncodingJob:
    """The store's job with a row for each part of these pairs; what a worker is at goes on."""
    with transaction.atomic():
        job, _ = EncodingJob.objects.update_or_create(
            store=folder.name,
            defaults={
                "identity": asdict(identity),
                "model": model,
                "state": EncodingJob.State.RUNNING,
            },
        )
        ended = Q(state__in=[State.DONE, State.FAILED])
        job.shards.filter(free(timezone.now()) | ended).delete()
        for row in job.shards.all():
            keys = keys_of(row)
            if (positions_in(missing, keys) < 0).any():
                row.delete()  # some of its pairs need no vector any more
            else:
                missing = missing[positions_in(keys, missing) < 0]
        rows = _rows(job, missing)
        while some := list(itertools.islice(rows, ROWS)):
            EncodingShard.objects.bulk_create(some)
    return job


def _rows(job: EncodingJob, missing: PairKeys) -> Iterator[EncodingShard]:
    """The shards of `encode_missing`."""
    last = job.shards.aggregate(last=Max("number"))["last"]
    first = 0 if last is None else last + 1
    for number, start in enumerate(range(0, len(missing), encode.SHARD_PAIRS), first):
        keys = missing[start : start + encode.SHARD_PAIRS]
        yield EncodingShard(job=job, number=number, keys=keys.tobytes(), pairs=len(keys))


def _done_in_turn(job: EncodingJob, taken: int) -> Iterator[EncodingShard]:
    """Those done up to the first that is not: in the same order, no matter which was quicker."""
    rows = job.shards.order_by("number").defer("keys")[taken:]
    return itertools.takewhile(lambda row: row.state == State.DONE, rows)


def _brought(folder: Path, row: EncodingShard) -> Shard:
    """The shard, which lies here or where QUORUM_VECTORS says."""
    shard = Shard(**cast(dict[str, Any], row.shard))
    fetch_missing(folder, [shard])
    verify_shard(folder, shard, SHARE)
    return shard
