"""The clock: which campaigns are advanced, and what a fault does to it."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from kombu.simple import SimpleQueue
from pytest_django import Settings

from annotation.crowd.mturk import MTurkCrowd
from annotation.pipeline.publish import publish
from annotation.progress import progress
from annotation.tasks import EXPIRES, advance_campaign, advance_campaigns
from config import celery
from tests.conftest import SetStage, StartMTurk
from tests.small_campaign import Stage

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


def sent(queue: SimpleQueue) -> list[int]:
    """The campaigns whose pass was asked for."""
    campaigns: list[int] = []
    while True:
        try:
            message = queue.get_nowait()
        except queue.Empty:
            return campaigns
        message.ack()
        assert message.headers["task"] == "annotation.tasks.advance_campaign"
        (arguments, _, _) = message.payload
        campaigns.append(arguments[0])


def test_the_clock_beats_for_published_campaigns_with_open_triplets(
    set_stage: SetStage, queue: SimpleQueue
) -> None:
    published, _, finished = (set_stage(name) for name in ("published", "packed", "finished"))
    for stage in (published, finished):
        stage.publish()
    for number in range(1, 6):
        finished.work("ada", number)
        finished.work("bob", number)
    assert finished.advance().finished
    advance_campaigns()
    assert sent(queue) == [published.campaign.pk]


def test_the_clock_beats_for_a_campaign_whose_calls_still_wait(
    stage: Stage, queue: SimpleQueue
) -> None:
    """All votes are in; the last approvals did not reach the crowd."""
    stage.publish()
    for number in range(1, 6):
        stage.work("ada", number)
        stage.work("bob", number)
    stage.advance()
    stage.campaign.intents.filter(kind="approve").update(state="pending")
    assert progress(stage.campaign)["open"] == 0
    advance_campaigns()
    assert sent(queue) == [stage.campaign.pk]


def test_a_pass_that_nobody_made_in_time_is_forgotten(stage: Stage, queue: SimpleQueue) -> None:
    publish(stage.campaign, stage.mturk.crowd)
    advance_campaigns()
    message = queue.get_nowait()
    assert message.headers["expires"] is not None
    beat: dict[str, Any] = django_settings.CELERY_BEAT_SCHEDULE["publish-and-collect"]
    assert beat["task"] == advance_campaigns.name
    assert beat["schedule"] <= EXPIRES


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
    publish(stage.campaign, MTurkCrowd(stage.mturk.url))
    stage.mturk.stop()
    with caplog.at_level(logging.WARNING):
        advance_campaign(stage.campaign.pk)
    assert "MTurk cannot be reached" in caplog.text
    assert stage.campaign.intents.filter(state="pending").count() == 5
