"""Something of everything that the API speaks of, and what stands for it in an address."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.test import override_settings
from django.utils import timezone
from knox.models import AuthToken

from annotation.analytics.campaign.snapshots import take
from annotation.jobs.handlers import HANDLERS
from annotation.models import (
    Assignment,
    Campaign,
    Control,
    ControlCandidate,
    ExpertLabel,
    HitItem,
    ItemReport,
    Role,
    Triplet,
)
from annotation.pipeline.collecting.collect import fetch_submissions
from annotation.pipeline.collecting.review import review
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.setup.create_pilot import create_pilot
from exports.building.options import Options
from exports.models import Release
from retrieval.corpus.uploads import new_folder
from retrieval.jobs.count_sources import ask_to_count
from retrieval.jobs.import_files import rejected_path
from retrieval.jobs.queue import run
from retrieval.models import IndexVersion, Job, QaPair
from retrieval.registry.registry import register
from tests.annotation.simulation.test_dry_run import made_up
from tests.annotation.support.events import delivered
from tests.exports.support.builds import build_of
from tests.retrieval.registry.trainings import trained
from tests.worlds.small_campaign import Stage, packed_campaign

REJECTED = {"line": 3, "reason": "the answer is empty", "text": "why,"}


@dataclass(frozen=True)
class World:
    """The campaign `faq` at work, `next` with one HIT published, and beside them all the rest."""

    campaign: Campaign
    begun: Campaign
    work: Assignment  # approved
    rejected: Assignment
    waiting: Assignment  # reviewed, and the crowd has not been told
    ids: Mapping[str, int]  # by the part of the address before it

    def rows(self, path: str) -> dict[str, Any]:
        """What stands in the address for rows that are there."""
        rows: dict[str, Any] = {
            "name": "answers" if "/pilots/" in path else self.campaign.name,
            "number": 1,
            "version": 1,
            "key": "kappa" if "/charts/" in path else "none",
            "source": "faq",
            "worker": self.work.worker.worker_id,
        }
        own = "campaign" if path.startswith("/api/v1/campaigns/{name}/controls") else "pool"
        parts = path.split("/")
        if "{id}" in parts:
            of = parts[parts.index("{id}") - 1]
            rows["id"] = self.ids[f"{own} controls" if of == "controls" else of]
            rows["id"] = self.ids["imports"] if path.endswith("/rejected") else rows["id"]
        return {name: value for name, value in rows.items() if f"{{{name}}}" in path}


def make_world(stage: Stage, folder: Path) -> World:
    campaign = stage.campaign
    work, rejected = _judged(stage)
    begun, waiting = _begun(stage, folder)
    made = {**_of_the_campaign(campaign, work), **_jobs(campaign), **_of_the_database()}
    with override_settings(MODELS_DIR=folder / "models"):
        register(trained(campaign.name))
    User.objects.create_user("cleo")
    create_pilot(campaign, "answers", triplets=4, seed=0)
    take(campaign)
    sent = delivered()
    made |= {"events": sent.event_id, "webhooks": sent.webhook_id or 0, "deliveries": sent.pk}
    return World(campaign, begun, work, rejected, waiting, made)


def _judged(stage: Stage) -> tuple[Assignment, Assignment]:
    """By ada, by eve who misses the controls, and by bob in her place."""
    for name, slips in (("ada", 0), ("eve", 2), ("bob", 0)):
        stage.work(name, 1, 1, slips=slips)
        stage.advance()
    works = Assignment.objects.order_by("pk")
    return works.filter(passed=True)[0], works.get(passed=False)


def _begun(stage: Stage, folder: Path) -> tuple[Campaign, Assignment]:
    other = Stage(packed_campaign(folder, "next", candidates_per_query=2), stage.mturk)
    publish(other.campaign, stage.mturk.crowd, most=1)
    other.deliver()
    other.work("ada", 1, 1)
    fetch_submissions(other.campaign, stage.mturk.crowd)
    review(other.campaign)
    return other.campaign, Assignment.objects.get(hit__campaign=other.campaign)


def _of_the_campaign(campaign: Campaign, work: Assignment) -> dict[str, int]:
    triplets = list(campaign.triplets.order_by("pk"))
    disputed = Triplet.objects.filter(pk=triplets[1].pk)
    disputed.update(status="unresolved", label=None, votes=4, positive_votes=2)
    item = HitItem.objects.filter(triplet=triplets[0]).first()
    assert item
    ItemReport.objects.create(assignment=work, item=item, reason="other", text="cut off")
    label = ExpertLabel.objects.create(triplet=triplets[0], expert="cleo", label=1, source="sample")
    Role.objects.create(user=User.objects.create_user("ada"), campaign=campaign, name="owner")
    release = Release.objects.create(
        campaign=campaign, number=1, prefix="faq/1", manifest_sha256="0" * 64,
        options=Options().to_dict(), stats={}, changes={},
    )  # fmt: skip
    result = {"release": release.number, "unchanged": False}
    build = build_of(campaign, state="done", result=result)
    return {
        "assignments": work.pk,
        "triplets": triplets[0].pk,
        "expert-labels": label.pk,
        "control-candidates": ControlCandidate.objects.create(triplet=triplets[2]).triplet_id,
        "drafts": campaign.control_drafts.create(
            kind="positive",
            origin="rewording",
            query=triplets[0].candidate.query,
            question="a draft",
            answer="Ten.",
        ).pk,
        "builds": build.pk,
        "trainings": Job.objects.create(kind="train", subject="a-model", state="queued").pk,
        "campaign controls": campaign.controls.order_by("pk")[0].pk,
        "pool controls": Control.objects.filter(campaign=None).order_by("pk")[0].pk,
    }


def _jobs(campaign: Campaign) -> dict[str, int]:
    """All are over: none stands in another's way."""
    over: dict[str, Any] = {"state": "done", "ended_at": timezone.now()}
    played = Job.objects.create(
        kind="dry-run", subject=campaign.name, result=made_up(), arguments={}, **over
    )
    folder = new_folder()
    rejected_path(folder, 1).write_text(json.dumps(REJECTED) + "\n")
    files = [{"stored": "1.csv", "name": "pairs.csv", "bytes": 9}]
    wanted = {"source": "faq", "folder": folder.name, "files": files}
    imported = Job.objects.create(
        kind="ingest", subject="source faq", arguments=wanted, result={}, **over
    )
    count = ask_to_count(None)
    assert count
    run(count.pk, "here", HANDLERS)
    return {"jobs": played.pk, "imports": imported.pk}


def _of_the_database() -> dict[str, int]:
    return {
        "pairs": QaPair.objects.order_by("pk")[0].pk,
        "indexes": IndexVersion.objects.order_by("pk")[0].pk,
    }


def token_of(user: User) -> str:
    made, _ = AuthToken.objects.create(user, expiry=timedelta(days=1))
    return str(made.token_key)
