"""Builds of releases. The database is the queue; a release is whole in the storage, or nowhere.

1. A row says who asks for what; one update makes it this process's (`exports.building.lease`).
2. The record is read out and the release is made in a work folder, which dies with the process.
3. If nothing has changed since the release before, that one is the answer.
4. Else the files go into the storage, under a prefix of this attempt alone.
5. One transaction makes the rows of the release and ends the build, if it is still ours.

Killed anywhere, the build is free again, and what it has left behind is cleared by the next one.
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
from core.leases import MOST_ATTEMPTS, free
from core.log_context import about
from core.progress import Progress, no_progress
from exports.building.lease import GIVEN_UP, Beat, claim
from exports.building.options import Options
from exports.building.requests import check_releasable, check_way, new_build, recover, work_root
from exports.building.steps import SHARES, end, make, store
from exports.layout.atomic_folder import workplace
from exports.models import Build, Release

log = logging.getLogger(__name__)

REPLACED = "Nobody was at it when a command built a release of the campaign: see that one."


@dataclass(frozen=True)
class Released:
    release: Release
    unchanged: bool  # since this release, which was there before
    note: str = ""  # what should be known about how it was made


def release_now(
    campaign: Campaign,
    *,
    options: Options,
    requested_by: str = "",
    begun: Callable[[Build], object] = lambda _: None,
    progress: Progress = no_progress,
) -> Released:
    """In this process, to the end; `progress` counts thousandths.

    `begun` is called in the transaction that writes the build down.
    """
    check_releasable(campaign)
    check_way(campaign, options)
    recover()
    with _workplace() as work:
        with transaction.atomic():
            now = timezone.now()
            campaign.builds.filter(free(now)).update(state=Build.State.FAILED, error=REPLACED)
            build = new_build(
                campaign,
                options=options.to_dict(),
                requested_by=requested_by,
                state=Build.State.RUNNING,
                claim=work.name,
                beat_at=now,
                attempts=MOST_ATTEMPTS,  # the worker does not take it up
            )
            begun(build)
        return _run(build, work, progress)


def build_queued(build_id: int) -> Released | None:
    """None where another process is at it, or it has ended."""
    recover()
    with _workplace() as work:
        build = claim(build_id, work.name)
        return None if build is None else _run(build, work, no_progress)


@contextmanager
def _workplace() -> Iterator[Path]:
    """A folder whose name is the claim of the process that has it."""
    with _room(), workplace(work_root() / uuid.uuid4().hex) as folder:
        yield folder


def _run(build: Build, work: Path, progress: Progress) -> Released:
    with about(campaign=build.campaign), _accounted(build), Beat(build, SHARES, progress) as beat:
        made = make(build, work, beat)
        if made.note:
            log.warning("campaign %s: %s", build.campaign, made.note)
        if made.same_as is None:
            release = store(build, made, beat)
        else:
            release = made.same_as
            end(build, release, unchanged=True)
        beat.end()
    return Released(release, unchanged=made.same_as is not None, note=made.note)


@contextmanager
def _accounted(build: Build) -> Iterator[None]:
    """However the build ends, its row says so, if it still is ours."""
    mine = Build.objects.filter(pk=build.pk, claim=build.claim, state=Build.State.RUNNING)
    try:
        with _room():
            yield
    except UserError as error:
        mine.update(state=Build.State.FAILED, error=str(error))
        raise
    finally:
        # Whatever it was, it may have passed by the next time.
        mine.filter(attempts__lt=MOST_ATTEMPTS).update(state=Build.State.QUEUED, claim="")
        mine.update(state=Build.State.FAILED, error=GIVEN_UP)


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"The release cannot be built in {work_root()} ({error.strerror or error}): make room "
            "there, or let QUORUM_DATA name another folder."
        ) from error
