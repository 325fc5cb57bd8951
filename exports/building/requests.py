"""Asking for a release: a row that a worker finds. Light, for every page of the site loads it."""

from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from annotation.models import Campaign
from annotation.pipeline.setup.create_pilot import pilot_of, source_of
from annotation.pipeline.setup.pool_depth import studied_campaign
from core.errors import UserError
from core.files.work_folder import abandoned
from exports.building.options import Options
from exports.building.stages import SHARES, WHOLE, reached
from exports.models import Build
from retrieval.jobs.queue import waiting_jobs

WORDS = {"clusters": "clusters of near-duplicates", "random": "chance"}


def request_build(campaign: Campaign, *, options: Options, by: User | None) -> Build:
    """For a worker to take; UserError where one of the campaign is unfinished."""
    check_releasable(campaign)
    check_way(campaign, options)
    recover()
    return new_build(campaign, options, by)


def thousandths(build: Build) -> int:
    """How far it is, as its row tells it."""
    if build.state == Build.State.DONE:
        return WHOLE
    return reached(build.stage, build.done, build.total) if build.stage in SHARES else 0


def check_releasable(campaign: Campaign) -> None:
    """Not a study, a pilot or a second crowd: its queries would lie in two releases, and may be in
    two splits.

    Nor are candidates from rank 31 on, alone, a dataset to train or evaluate with.
    """
    if studied := studied_campaign(campaign):
        raise UserError(
            f"Campaign {campaign} is a pool depth study of {studied} and has no releases: its "
            f"queries are in those of {studied}. `quorum campaign pool-depth-report "
            f"{campaign}` shows what it found."
        )
    if campaign.query_set.part_of_id:
        raise UserError(
            f"Campaign {campaign} is a second crowd and has no releases of its own: those of the "
            "campaign that its queries come from hold the labels of both."
        )
    if pilot := pilot_of(campaign):
        raise UserError(
            f"Campaign {campaign} is a condition of pilot {pilot} and has no releases: its "
            f"queries are in those of {source_of(pilot)}."
        )


def check_way(campaign: Campaign, options: Options) -> None:
    """A published query keeps its split: only a campaign's first release may choose the way."""
    last = campaign.releases.order_by("number").last()
    if last and last.options["split"] != options.split:
        raise UserError(
            f"A published query of campaign {campaign} keeps its split, and its release "
            f"{last.number} was split by {WORDS[last.options['split']]}: keep that way "
            f"(--split {last.options['split']})."
        )


def new_build(campaign: Campaign, options: Options, by: User | None, **values: object) -> Build:
    try:
        with transaction.atomic():
            return Build.objects.create(
                kind=Build.KIND,
                subject=campaign.name,
                arguments=options.to_dict(),
                requested_by=by,
                **values,
            )
    except IntegrityError as error:
        raise UserError(
            f"A release of campaign {campaign} is being built already: wait until that has ended."
        ) from error


def recover() -> None:
    """Builds whose processes have died on this machine are free again, those begun too often fail.

    A process of another machine is believed to have died when it has been silent for long.
    """
    running = Build.objects.filter(state=Build.State.RUNNING)
    for folder in abandoned(work_root()):
        running.filter(claim=folder.name).update(beat_at=None)
    waiting_jobs()


def work_root() -> Path:
    """Where the folders of the builds of this machine lie."""
    root: Path = settings.DATA_DIR / "builds"
    return root
