"""Long work that is asked for: done by one worker, told as it goes, taken up again or given up."""

from collections.abc import Mapping
from threading import Event

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.contrib.auth.models import User
from django.utils import timezone

from core import leases, log_context
from core.errors import UserError
from core.leases import MOST_ATTEMPTS, STALE
from retrieval.jobs.queue import (
    GIVEN_UP,
    Handler,
    JobLost,
    Result,
    Watch,
    keep,
    request,
    run,
    waiting_jobs,
)
from retrieval.models import Job
from tests.support.threads import together

pytestmark = [pytest.mark.django_db, pytest.mark.concurrent]


def _count(job: Job, watch: Watch) -> Result:
    count = watch.stage("counting", 3)
    for _ in range(3):
        count(1)
    return {"counted": job.arguments["upto"]}


def _refuse(job: Job, watch: Watch) -> Result:
    raise UserError("There is nothing to count.")


def _fill(job: Job, watch: Watch) -> Result:
    raise MemoryError


def _break(job: Job, watch: Watch) -> Result:
    raise ZeroDivisionError


HANDLERS: Mapping[str, Handler] = {
    "count": _count,
    "refuse": _refuse,
    "fill": _fill,
    "break": _break,
}


def asked(kind: str = "count") -> Job:
    return request(kind, "faq", {"upto": 3}, by=None)


def test_a_job_that_needs_too_much_memory_says_so() -> None:
    job = run(asked("fill").pk, "mine", HANDLERS)
    assert job is not None
    assert (job.state, job.error) == (
        "failed",
        "This needs more memory than there is, or than the process may have: give it more, or do "
        "it in smaller parts.",
    )


def test_a_job_ends_with_what_came_of_it() -> None:
    ada = User.objects.create_user("ada")
    job = run(request("count", "faq", {"upto": 7}, by=ada).pk, "mine", HANDLERS)
    assert job is not None
    assert (job.state, job.result, job.error) == ("done", {"counted": 7}, "")
    assert job.requested_by == ada
    assert job.ended_at is not None
    assert not waiting_jobs().exists()


def test_a_refusal_ends_a_job_with_its_sentence() -> None:
    job = run(asked("refuse").pk, "mine", HANDLERS)
    assert job is not None
    assert (job.state, job.error, job.result) == ("failed", "There is nothing to count.", None)
    assert not waiting_jobs().exists()


def test_a_job_that_broke_is_taken_up_again_and_at_last_given_up() -> None:
    job = asked("break")
    for _ in range(MOST_ATTEMPTS):
        assert list(waiting_jobs()) == [job]
        with pytest.raises(ZeroDivisionError):
            run(job.pk, "mine", HANDLERS)
    assert not waiting_jobs().exists()
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", GIVEN_UP)


def _out_of_time(stage: str, *, counted: int, total: int | None = None, kept: int = 0) -> Handler:
    def work(job: Job, watch: Watch) -> Result:
        watch.stage(stage, total)(counted)
        if kept:
            keep(job, {"kept": kept})
        raise SoftTimeLimitExceeded

    return work


def _run_out(job: Job, handler: Handler) -> int:
    """One run that its time ends; the attempts that count against the job then."""
    with pytest.raises(SoftTimeLimitExceeded):
        run(job.pk, "mine", {"count": handler})
    job.refresh_from_db()
    assert (job.state, job.claim) == ("queued", "")
    return job.attempts


def test_a_job_that_gets_further_each_time_until_its_time_is_up_is_not_given_up() -> None:
    job = asked()
    for left in range(90, 0, -10):  # each run does ten of those that are left
        assert _run_out(job, _out_of_time("counting", counted=10, total=left)) == 0
        assert list(waiting_jobs()) == [job]
    done = run(job.pk, "mine", HANDLERS)
    assert done is not None
    assert done.state == "done"


@pytest.mark.parametrize(
    ("again", "attempts"),
    [
        (_out_of_time("counting", counted=5, total=10), 1),
        (_out_of_time("counting", counted=4, total=10), 1),
        (_out_of_time("counting", counted=6, total=10), 0),
        (_out_of_time("counting", counted=5, total=9), 0),
        (_out_of_time("counting", counted=9, total=11), 0),
        (_out_of_time("counting", counted=1, total=11), 1),
        (_out_of_time("writing", counted=9), 1),
        (_out_of_time("counting", counted=5, total=10, kept=1), 0),
    ],
)
def test_a_run_counts_where_it_got_no_further_than_the_one_before(
    again: Handler, attempts: int
) -> None:
    job = asked()
    assert _run_out(job, _out_of_time("counting", counted=5, total=10)) == 0
    assert _run_out(job, again) == attempts


def test_a_job_that_was_taken_over_is_left_alone_by_the_one_whose_time_is_up() -> None:
    job = asked()

    def slow(job: Job, watch: Watch) -> Result:
        watch.stage("counting")(7)
        Job.objects.update(claim="theirs")
        raise SoftTimeLimitExceeded

    with pytest.raises(SoftTimeLimitExceeded):
        run(job.pk, "mine", {"count": slow})
    job.refresh_from_db()
    assert (job.state, job.claim, job.attempts, job.done) == ("running", "theirs", 1, 0)


def test_a_job_that_comes_to_the_same_point_each_time_is_given_up() -> None:
    job = asked()
    same = _out_of_time("counting", counted=5)
    assert [_run_out(job, same) for _ in range(MOST_ATTEMPTS + 1)] == [0, 1, 2, 3]
    assert not waiting_jobs().exists()
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", GIVEN_UP)


def test_a_job_whose_time_ends_now_in_one_stage_and_now_in_another_is_given_up() -> None:
    job = asked()
    turns = [_out_of_time("counting", counted=99), _out_of_time("writing", counted=1)] * 2
    assert [_run_out(job, turn) for turn in turns] == [0, 1, 2, 3]
    assert not waiting_jobs().exists()


def test_what_another_worker_has_is_left_alone() -> None:
    job = asked()
    Job.objects.update(state="running", claim="theirs", beat_at=timezone.now(), attempts=1)
    assert run(job.pk, "mine", HANDLERS) is None
    assert not waiting_jobs().exists()
    Job.objects.update(beat_at=timezone.now() - 2 * STALE)  # they have fallen silent
    assert list(waiting_jobs()) == [job]
    done = run(job.pk, "mine", HANDLERS)
    assert done is not None
    assert done.state == "done"


def test_a_job_that_is_taken_over_meanwhile_does_not_end_by_the_first_worker() -> None:
    job = asked()

    def slow(job: Job, watch: Watch) -> Result:
        Job.objects.update(claim="theirs")
        return {"counted": 0}

    with pytest.raises(JobLost):
        run(job.pk, "mine", {"count": slow})
    job.refresh_from_db()
    assert (job.state, job.claim, job.result) == ("running", "theirs", None)


def test_the_same_work_is_not_asked_for_twice_while_it_is_under_way() -> None:
    first = asked()
    with pytest.raises(UserError, match="'count' is already running for faq: wait until it ends"):
        asked()
    request("count", "other", {}, by=None)
    asked("refuse")
    run(first.pk, "mine", HANDLERS)
    assert asked().pk != first.pk


def test_nobody_fills_the_queue_for_all_others() -> None:
    ada, bob = (User.objects.create(username=name) for name in ("ada", "bob"))
    jobs = [request("count", f"faq{number}", {}, by=ada) for number in range(10)]
    with pytest.raises(UserError, match="You have 10 jobs that are not done yet"):
        request("count", "one more", {}, by=ada)
    request("count", "one more", {}, by=bob)
    Job.objects.filter(pk=jobs[0].pk).update(state="running", claim="mine")
    with pytest.raises(UserError, match="wait until one of them ends"):
        request("count", "another", {}, by=ada)
    Job.objects.filter(pk=jobs[0].pk).update(state="done", claim="")
    request("count", "another", {}, by=ada)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_ask_at_once_one_is_told_to_wait() -> None:
    def ask() -> str:
        try:
            return asked().state
        except UserError:
            return "refused"

    assert sorted(together(*[ask] * 4)) == ["queued", "refused", "refused", "refused"]


@pytest.mark.django_db(transaction=True)
def test_the_beat_s_log_lines_are_about_the_job_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT_SECONDS", 0.01)
    beaten, seen = Event(), []
    tell = Watch.facts

    def report(watch: Watch) -> dict[str, object]:
        seen.append(log_context.facts())
        beaten.set()
        return tell(watch)

    def work(_: Job, __: Watch) -> Result:
        assert beaten.wait(60)
        return {}

    monkeypatch.setattr(Watch, "facts", report)
    job = asked()
    assert run(job.pk, "mine", {"count": work}) is not None
    assert seen[0] == {"job": str(job.pk)}


def test_each_stage_counts_from_its_beginning_and_has_its_own_whole() -> None:
    seen = []

    def two(job: Job, watch: Watch) -> Result:
        reading, writing = watch.stage("reading", 10), watch.stage("writing")
        for count in (reading, reading, writing):
            count(4)
            seen.append(tuple(watch.facts().values()))
        return {}

    run(asked().pk, "mine", {"count": two})
    assert seen == [("reading", 4, 10), ("reading", 8, 10), ("writing", 4, None)]
