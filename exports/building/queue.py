"""Builds of releases: jobs. A release is whole in the storage, or nowhere.

1. A job says who asks for what; one update makes it this process's (`retrieval.jobs.queue`).
2. The record is read out and the release is made in a work folder, which dies with the process.
3. If nothing has changed since the release before, that one is the answer.
4. Else the files go into the storage, under a prefix of this attempt alone.
5. One transaction makes the rows of the release and writes the job's result, if it is still ours.

Killed anywhere, the job is free again, and what it has left behind is cleared by the next one.
"""

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from annotation.models import Campaign
from core.errors import UserError
from core.files.work_folder import working_folder
from core.leases import MOST_ATTEMPTS, free
from core.log_context import about
from core.progress import Progress, no_progress
from exports.building.options import Options
from exports.building.requests import check_releasable, check_way, new_build, recover, work_root
from exports.building.stages import Stages
from exports.building.steps import finish, make_release, store
from exports.models import Build, Release
from retrieval.jobs.queue import GIVEN_UP, Result, Watch, execute
from retrieval.models import Job

log = logging.getLogger(__name__)

REPLACED = "A command built a release of the campaign while this job was waiting: see that release."


@dataclass(frozen=True)
class Released:
    release: Release
    unchanged: bool  # since this release, which was there before
    note: str = ""  # what should be known about how it was made


def release_now(
    campaign: Campaign,
    *,
    options: Options,
    begun: Callable[[Build], object] = lambda _: None,
    progress: Progress = no_progress,
) -> Released:
    """In this process, to the end; `progress` counts thousandths.

    `begun` is called in the transaction that writes the build down.
    """
    check_releasable(campaign)
    check_way(campaign, options)
    recover()
    with _working_folder(uuid.uuid4().hex) as work:
        build = _own_build(campaign, options, work.name, begun)
        try:
            execute(build, lambda job, watch: _build(job, work, Stages(watch.stage, progress)))
        finally:  # cut off, it is nobody's to take up
            queued = Build.objects.filter(pk=build.pk, state=Build.State.QUEUED)
            queued.update(state=Build.State.FAILED, error=GIVEN_UP, ended_at=timezone.now())
    build = Build.objects.get(pk=build.pk)
    if build.release is None:
        raise UserError(build.error)
    return Released(build.release, build.unchanged, (build.result or {})["note"])


@transaction.atomic
def _own_build(
    campaign: Campaign, options: Options, claim: str, begun: Callable[[Build], object]
) -> Build:
    now = timezone.now()
    idle = Build.objects.filter(free(now), subject=campaign.name)
    idle.update(state=Build.State.FAILED, error=REPLACED, ended_at=now)
    build = new_build(
        campaign,
        options,
        None,
        state=Build.State.RUNNING,
        claim=claim,
        beat_at=now,
        attempts=MOST_ATTEMPTS,  # the worker does not take it up
    )
    begun(build)
    return build


def build_release(job: Job, watch: Watch) -> Result:
    """As the worker does."""
    if job.result is not None:  # cut off when all was done but the job's last word
        return dict(job.result)
    recover()
    with _working_folder(job.claim) as work:
        return _build(job, work, Stages(watch.stage, no_progress))


@contextmanager
def _working_folder(claim: str) -> Iterator[Path]:
    """A folder whose name is the claim of the process that has it."""
    with _disk_errors(), working_folder(work_root() / claim) as folder:
        yield folder


def _build(job: Job, work: Path, stages: Stages) -> Result:
    build = Build.objects.select_related("requested_by").get(pk=job.pk)
    build.claim = job.claim  # not that of a process that has taken it over since
    with about(campaign=build.campaign), _disk_errors():
        built = make_release(build, work, stages)
        if built.note:
            log.warning("campaign %s: %s", build.campaign, built.note)
        if built.same_as is None:
            store(build, built, stages)
        else:
            finish(build, built, built.same_as.number)
        stages.end()
    return dict(build.result or {})


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"The release cannot be built in {work_root()} ({error.strerror or error}): make room "
            "there, or let QUORUM_DATA name another folder."
        ) from error
