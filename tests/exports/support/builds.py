"""Asking for releases, what is stored of them, and acts in the middle of a build."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

import exports.building.tasks  # noqa: F401  # registers the work
from annotation.jobs.handlers import HANDLERS
from annotation.models import Campaign, Judgment, Triplet
from annotation.pipeline.labelling.label import write_labels
from core.leases import take
from exports.building.options import Options
from exports.building.queue import Released, release_now
from exports.building.requests import recover, request_build
from exports.building.stages import SHARES
from exports.models import Build, Release
from retrieval.jobs.queue import run
from tests.exports.support.contents import contents


def ask(campaign: Campaign, **options: Any) -> Build:
    ada, _ = User.objects.get_or_create(username="ada")
    return request_build(campaign, options=Options(**options), by=ada)


def build_of(campaign: Campaign, **values: Any) -> Build:
    """Its row alone."""
    return Build.objects.create(
        **{"kind": Build.KIND, "subject": campaign.name, "arguments": {}, **values}
    )


def claim(build: Build, name: str) -> Build | None:
    return Build.objects.get(pk=build.pk) if take(Build.objects.filter(pk=build.pk), name) else None


def build_queued(build: Build) -> Build | None:
    """As the worker does."""
    recover()
    done = run(build.pk, uuid.uuid4().hex, HANDLERS)
    return Build.objects.get(pk=build.pk) if done else None


def built(campaign: Campaign, **options: Any) -> Released:
    return release_now(campaign, options=Options(**options))


def stored(release: Release, releases: Path) -> dict[str, bytes]:
    return contents(releases / release.prefix)


def at(stage: str, act: Callable[[], object], *, part: float = 0.0) -> Callable[[int], None]:
    """A progress that acts once, when so much of the stage is done."""
    stages = list(SHARES)
    wanted = sum(SHARES[each] for each in stages[: stages.index(stage)]) + part * SHARES[stage]
    state = {"done": 0, "acted": False}

    def progress(increment: int) -> None:
        state["done"] += increment
        if state["done"] >= wanted and not state["acted"]:
            state["acted"] = True
            act()

    return progress


def change_a_label(campaign: Campaign) -> Triplet:
    """Moon's first candidate: both say no now."""
    triplet = Triplet.objects.get(
        campaign=campaign, candidate__query__key="moon", candidate__rank=1
    )
    Judgment.objects.filter(triplet=triplet).update(value=0)
    write_labels(campaign)
    return triplet
