"""The clock: which campaigns are advanced, and what a fault does to it."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings as django_settings
from django.db.models import F
from kombu.simple import SimpleQueue
from pytest_django import Settings

from annotation.analytics.campaign.progress import progress
from annotation.crowd.inhouse.adapter import InhouseCrowd
from annotation.crowd.inhouse.models import Assignment, HitType
from annotation.crowd.inhouse.visits import open_link
from annotation.crowd.prolific.models import Study
from annotation.jobs.tasks import (
    EXPIRES,
    advance_campaign,
    advance_campaigns,
    deliver_campaign,
    deliver_campaigns,
    reconcile_campaign,
    reconcile_campaigns,
)
from annotation.models import Campaign, Condition
from annotation.pipeline.outbox.deliver import deliver
from annotation.pipeline.publishing.lifecycle import cancel
from annotation.pipeline.publishing.publish import publish
from annotation.pipeline.reconcile.hits import KEPT
from config import celery
from tests.annotation.crowd.inhouse.team import SPEC
from tests.annotation.pipeline.reconcile.drift import create_there
from tests.annotation.pipeline.whole.own_crowd import own_team
from tests.conftest import SetStage, StartMTurk
from tests.worlds.mturk import Killed, MortalCrowd
from tests.worlds.small_campaign import Stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleQueue]:
    """What the tasks send, on kombu's transport in memory."""
    monkeypatch.setitem(celery.conf, "broker_url", "memory://")
    monkeypatch.setitem(celery.conf, "broker_transport_options", {})
    monkeypatch.setattr(celery.amqp, "_producer_pool", None)
    monkeypatch.setattr(celery, "_pool", None)
    with celery.connection_for_read() as connection:
        queue = connection.SimpleQueue(celery.conf.task_default_queue)
        queue.clear()
        yield queue
        queue.close()


def sent(queue: SimpleQueue, task: str = "advance_campaign") -> list[int]:
    """The campaigns for which the task was asked for."""
    campaigns: list[int] = []
    while True:
        try:
            message = queue.get_nowait()
        except queue.Empty:
            return campaigns
        message.ack()
        assert message.headers["task"] == f"quorum.{task}"
        assert message.headers["expires"] is not None
        (arguments, _, _) = message.payload
        campaigns.append(arguments[0])


def work_on_all(stage: Stage, *names: str) -> None:
    for number in range(1, 6):
        for name in names:
            stage.work(name, number)


def test_the_clock_beats_for_published_campaigns_with_open_triplets(
    set_stage: SetStage, queue: SimpleQueue
) -> None:
    published, _, finished = (set_stage(name) for name in ("published", "packed", "finished"))
    for stage in (published, finished):
        stage.publish()
    work_on_all(finished, "ada", "bob")
    assert finished.advance().finished
    advance_campaigns()
    assert sent(queue) == [published.campaign.pk]


def test_the_clock_beats_for_a_campaign_whose_calls_still_wait(
    stage: Stage, queue: SimpleQueue
) -> None:
    """All votes are in; the last approvals did not reach the crowd."""
    stage.publish()
    work_on_all(stage, "ada", "bob")
    stage.advance()
    stage.campaign.outbox.filter(kind="approve").update(state="pending")
    assert progress(stage.campaign)["open"] == 0
    advance_campaigns()
    assert sent(queue) == [stage.campaign.pk]


def test_the_clock_beats_for_a_complete_campaign_until_its_owner_is_told(
    stage: Stage, queue: SimpleQueue
) -> None:
    """Another worker made the last call, after the pass had looked."""
    stage.publish()
    work_on_all(stage, "ada", "bob")
    stage.advance()
    Condition.objects.all().delete()
    advance_campaigns()
    assert sent(queue) == [stage.campaign.pk]
    stage.advance()
    advance_campaigns()
    assert sent(queue) == []


def test_the_clock_beats_until_a_study_at_prolific_is_at_rest(
    stage: Stage, queue: SimpleQueue
) -> None:
    stage.publish()
    work_on_all(stage, "ada", "bob")
    assert stage.advance().finished
    type_id = InhouseCrowd().create_hit_type(SPEC)
    HitType.objects.filter(type_id=type_id).update(type_id=stage.campaign.hit_type_id)
    now = stage.mturk.clock.now()
    link = open_link(stage.campaign.hit_type_id, "prolific", tasks=1, now=now)
    study = Study.objects.create(link=link, minutes=5)
    advance_campaigns()
    assert sent(queue) == [stage.campaign.pk]
    study.at_rest = True
    study.save()
    advance_campaigns()
    assert sent(queue) == []


@pytest.mark.parametrize("state", ["capped", "paused", "cancelled"])
def test_the_clock_beats_in_whatever_state_while_somebody_may_hand_something_in(
    stage: Stage, queue: SimpleQueue, state: str
) -> None:
    stage.publish()
    at_work = stage.accept("ada", 1)
    assert at_work
    Campaign.objects.update(state=state)
    advance_campaigns()
    assert sent(queue) == [stage.campaign.pk]


def test_a_cancelled_campaign_is_at_rest_when_its_work_is_paid(
    stage: Stage, queue: SimpleQueue
) -> None:
    stage.publish()
    at_work = stage.accept("ada", 1)
    assert at_work
    cancel(stage.campaign, stage.mturk.clock.now())
    stage.advance()
    stage.mturk.person("ada").submit(at_work, stage.sheet(1))
    advance_campaigns()
    assert sent(queue) == [stage.campaign.pk]
    stage.advance()
    assert stage.mturk.rows("SELECT status FROM assignments") == [("Approved",)]
    assert stage.campaign.triplets.filter(status="open").exists()
    advance_campaigns()
    assert sent(queue) == []


@pytest.mark.usefixtures("small_database")
def test_where_no_money_moves_the_clock_beats_while_a_hit_may_be_submitted(
    tmp_path: Path, queue: SimpleQueue
) -> None:
    team = own_team(tmp_path)
    team.publish()
    at_work = team.take("ada")
    assert at_work
    cancel(team.campaign, team.clock.now())
    team.advance()
    advance_campaigns()
    assert sent(queue) == [team.campaign.pk]
    team.submit(at_work)
    advance_campaign(team.campaign.pk)
    assert Assignment.objects.get(pk=at_work.pk).status == "approved"
    advance_campaigns()
    assert sent(queue) == []


def test_a_pass_that_nobody_made_in_time_is_forgotten(stage: Stage, queue: SimpleQueue) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    advance_campaigns()
    message = queue.get_nowait()
    assert message.headers["expires"] is not None
    beat: dict[str, Any] = django_settings.CELERY_BEAT_SCHEDULE["publish-and-collect"]
    assert beat["task"] == advance_campaigns.name
    assert beat["schedule"] <= EXPIRES


def test_a_pass_outlives_the_time_between_two_beats_however_long() -> None:
    settings = os.environ | {
        "QUORUM_PASS_SECONDS": "900",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    program = (
        "import django; django.setup(); from annotation.jobs.tasks import EXPIRES; print(EXPIRES)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=True
    )
    assert float(said.stdout) == 900


def test_every_beat_names_a_task_that_ends_in_time(queue: SimpleQueue) -> None:
    celery.loader.import_default_modules()  # as a worker does at its start
    for beat in django_settings.CELERY_BEAT_SCHEDULE.values():
        assert beat["task"] in celery.tasks
    for task in (advance_campaign, deliver_campaign, reconcile_campaign):
        assert 0 < task.soft_time_limit < django_settings.CELERY_TASK_TIME_LIMIT


def test_other_workers_share_the_calls_of_a_big_publication(
    set_stage: SetStage, queue: SimpleQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, few, paused = (set_stage(name) for name in ("many", "few", "paused"))
    for stage in (many, few, paused):
        publish(stage.campaign, stage.mturk.crowd)
    few.deliver()
    Campaign.objects.filter(name="paused").update(state="paused")
    deliver_campaigns()
    assert sent(queue, "deliver_campaign") == []
    monkeypatch.setattr("annotation.jobs.tasks.MANY_CALLS", 5)
    deliver_campaigns()
    assert sent(queue, "deliver_campaign") == [many.campaign.pk]
    deliver_campaign(many.campaign.pk)
    assert not many.campaign.hits.filter(crowd_id=None).exists()


def test_the_calls_of_a_killed_process_are_made_within_half_a_minute(
    stage: Stage, queue: SimpleQueue
) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    with pytest.raises(Killed):
        deliver(stage.campaign, MortalCrowd(stage.mturk.url, calls=1, answered=True), threads=1)
    between = timedelta(seconds=django_settings.CELERY_BEAT_SCHEDULE["share-the-calls"]["schedule"])
    passed, late = timedelta(0), timedelta(seconds=30)
    while stage.campaign.hits.filter(crowd_id=None).exists():
        passed += between
        assert passed <= late
        stage.campaign.outbox.update(claimed_at=F("claimed_at") - between)
        deliver_campaigns()
        for campaign in sent(queue, "deliver_campaign"):
            deliver_campaign(campaign)
    assert stage.mturk.count("hits") == 5


def test_a_shared_delivery_goes_to_no_other_crowd(
    stage: Stage, start_mturk: StartMTurk, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    other = start_mturk()
    settings.MTURK_ENDPOINT = other.url
    deliver_campaign(stage.campaign.pk)
    reconcile_campaign(stage.campaign.pk)
    assert caplog.text.count(f"campaign faq: Campaign faq is published at {stage.mturk.url}") == 2
    assert other.count("hits") == stage.mturk.count("hits") == 0


def test_campaigns_that_wait_are_compared_often_and_all_once_a_day(
    set_stage: SetStage, queue: SimpleQueue
) -> None:
    waiting, _, finished = (set_stage(name) for name in ("waiting", "packed", "finished"))
    for stage in (waiting, finished):
        stage.publish()
    work_on_all(finished, "ada", "bob")
    finished.advance()
    reconcile_campaigns()
    assert sent(queue, "reconcile_campaign") == [waiting.campaign.pk]
    reconcile_campaigns(full=True)
    both = [waiting.campaign.pk, finished.campaign.pk]
    assert sent(queue, "reconcile_campaign") == both
    finished.campaign.hits.update(published_at=datetime.now(UTC) - KEPT)
    reconcile_campaigns(full=True)
    assert sent(queue, "reconcile_campaign") == [waiting.campaign.pk]


def test_what_a_comparison_mends_is_in_the_log(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.publish()
    extra = create_there(stage, stage.hit(1).key)
    reconcile_campaign(stage.campaign.pk)
    assert f"campaign faq: HIT {extra} at the crowd" in caplog.text
    caplog.clear()
    reconcile_campaign(stage.campaign.pk, full=True)
    assert caplog.text == ""


def test_a_task_whose_time_is_up_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def too_long(*_: object, **__: object) -> None:
        raise SoftTimeLimitExceeded

    publish(stage.campaign, stage.mturk.crowd)
    monkeypatch.setattr("annotation.jobs.tasks.advance", too_long)
    advance_campaign(stage.campaign.pk)
    assert "campaign faq: its time is up" in caplog.text


def test_a_beat_does_one_pass(stage: Stage) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    advance_campaign(stage.campaign.pk)
    assert stage.mturk.count("hits") == 5
    stage.work("ada", 1)
    advance_campaign(stage.campaign.pk)
    assert stage.mturk.rows("SELECT status FROM assignments") == [("Approved",)]


def test_a_beat_that_finds_another_crowd_says_so_and_does_nothing(
    stage: Stage,
    start_mturk: StartMTurk,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    other = start_mturk()
    settings.MTURK_ENDPOINT = other.url
    advance_campaign(stage.campaign.pk)
    assert f"campaign faq: Campaign faq is published at {stage.mturk.url}" in caplog.text
    assert other.count("hits") == stage.mturk.count("hits") == 0


def test_a_beat_that_finds_nobody_says_so(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    stage.mturk.stop()
    with caplog.at_level(logging.WARNING):
        advance_campaign(stage.campaign.pk)
    assert "MTurk cannot be reached" in caplog.text
    assert stage.campaign.outbox.filter(state="pending").count() == 5
