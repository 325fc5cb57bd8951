"""Long jobs that pages and programs ask for. The database is the queue; a worker does them.

1. `request` writes the row; one update makes it a worker's (`core.leases`), a beat holds it.
2. A table names the handler of each kind. Every handler can safely run again.
3. The row ends with the result, or with one sentence that says what was wrong.

A refusal ends a job; one that was cut off is taken up again, as often as `core.leases` allows. A
run that its time limit ends does not count if it got further than the one before.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from core.errors import OUT_OF_MEMORY, UserError
from core.leases import MOST_ATTEMPTS, Heartbeat, free, take
from core.log_context import about
from core.progress import Progress
from retrieval.models import Job

Result = dict[str, object]
Arguments = Mapping[str, Any]

MOST_OF_ONE = 10
GIVEN_UP = (
    "The worker stopped before the job was done. See the worker's log for the reason, then "
    "request the job again."
)
State = Job.State


class JobLost(Exception):
    """Another worker has taken the job over, or somebody has taken it back."""


class Watch(Heartbeat):
    """Writes to a job's row how far it is."""

    def __init__(self, job: Job) -> None:
        super().__init__(_held(job))
        self._job = job
        self._stage = ""
        self._done = 0
        self._total: int | None = None

    def facts(self) -> dict[str, object]:
        return {"stage": self._stage, "done": self._done, "total": self._total}

    def stage(self, name: str, total: int | None = None) -> Progress:
        """Counts this part of the work, which begins with the first count."""

        def count(increment: int) -> None:
            if self._stage != name:
                self._stage, self._done, self._total = name, 0, total
            self._done += increment
            if self._lost:
                raise JobLost

        return count


Handler = Callable[[Job, Watch], Result]


def request(kind: str, subject: str, arguments: Arguments, *, by: User | None) -> Job:
    """UserError where the same job is queued or running for this subject already, or where this
    person has too many: the others' jobs wait behind them.
    """
    if by is not None:
        mine = Job.objects.filter(requested_by=by, state__in=[State.QUEUED, State.RUNNING])
        if mine.count() >= MOST_OF_ONE:
            raise UserError(
                f"You have {MOST_OF_ONE} jobs that are not done yet, the most that one person may "
                "have: wait until one of them ends."
            )
    try:
        with transaction.atomic():
            return Job.objects.create(
                kind=kind, subject=subject, arguments=arguments, requested_by=by
            )
    except IntegrityError as error:
        raise UserError(
            f"The job {kind!r} is already running for {subject or 'the site'}: wait until it ends."
        ) from error


def cancel(job: Job, *, by: str) -> None:
    """A process that is at it stops at its next step. UserError where it has ended already."""
    ended = {"state": State.FAILED, "error": f"Cancelled by {by}.", "ended_at": timezone.now()}
    under_way = Job.objects.filter(pk=job.pk, state__in=[State.QUEUED, State.RUNNING])
    if not under_way.update(claim="", **ended):
        raise UserError("The job has ended already.")


def waiting_jobs() -> QuerySet[Job]:
    """Those that nobody is at; those that were cut off too often end here."""
    idle = Job.objects.filter(free(timezone.now()))
    for job in idle.filter(attempts__gte=MOST_ATTEMPTS).select_related("requested_by"):
        same = idle.filter(pk=job.pk, attempts__gte=MOST_ATTEMPTS)  # nobody else's by now
        _fail(job, same, GIVEN_UP)
    return idle.filter(attempts__lt=MOST_ATTEMPTS).order_by("requested_at")


def run(job_id: int, mine: str, handlers: Mapping[str, Handler]) -> Job | None:
    """None where another worker has it, or it has ended; `mine` names the claim."""
    if not take(Job.objects.filter(pk=job_id), mine):
        return None
    job = Job.objects.select_related("requested_by").get(pk=job_id)
    execute(job, handlers[job.kind])
    job.refresh_from_db()
    return job


def execute(job: Job, handler: Handler) -> None:
    """By the process that holds it, to its end; a refusal is written to its row."""
    with about(job=job.pk):  # before the beat's thread is made, which takes it along
        watch = Watch(job)
        with _accounted(job, watch), watch:
            _end(job, state=State.DONE, result=handler(job, watch))


class _Progress(NamedTuple):
    """How far a job's runs have come, by its row."""

    result: Any
    stage: str
    total: int | None
    done: int

    def is_further_than(self, before: Self) -> bool:
        """Work that goes on where it was has less before it; work that starts over has not.

        Another stage proves nothing: a process that starts over may be cut off now before its end
        and now behind it.
        """
        if self.result != before.result or not before.stage:
            return True
        less = self.total is not None and before.total is not None and self.total < before.total
        return self.stage == before.stage and (less or self.done > before.done)


@contextmanager
def _accounted(job: Job, watch: Watch) -> Iterator[None]:
    """However the work ends, its row says so, if it still is ours."""
    before = _Progress(job.result, job.stage, job.total, job.done)
    try:
        yield
    except (UserError, MemoryError) as error:
        sentence = OUT_OF_MEMORY if isinstance(error, MemoryError) else str(error)
        if not _fail(job, _held(job), sentence):
            raise JobLost from error
    except SoftTimeLimitExceeded:
        facts: dict[str, Any] = watch.facts()
        if _Progress(job.result, **facts).is_further_than(before):
            facts["attempts"] = F("attempts") - 1
        _held(job).update(**facts)
        raise
    finally:
        # An error of ours or of the machine: it may have passed by the next time.
        _held(job).update(state=State.QUEUED, claim="")


def keep(job: Job, result: Result) -> None:
    """What is done so far, within the transaction that does it: the next run goes on from it.

    The heartbeat is written as well: on SQLite nobody else can while that transaction goes on.
    """
    if not _held(job).update(result=result, beat_at=timezone.now()):
        raise JobLost
    job.result = result


@transaction.atomic
def _fail(job: Job, row: QuerySet[Job], error: str) -> bool:
    """With its event, which tells who asked for it; False where the row is no more as it was."""
    ended = {"state": State.FAILED, "error": error, "ended_at": timezone.now()}
    if not row.update(**ended):
        return False
    job.state, job.error = State.FAILED, error
    import_string(settings.JOB_FAILED)(job)
    return True


def _end(job: Job, **facts: object) -> None:
    if not _held(job).update(ended_at=timezone.now(), **facts):
        raise JobLost


def _held(job: Job) -> QuerySet[Job]:
    """The row, for as long as it is this worker's."""
    return Job.objects.filter(pk=job.pk, claim=job.claim, state=State.RUNNING)
