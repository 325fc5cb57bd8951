"""Events bring a pass forward; what they say is believed of nobody who did not sign it."""

import json
import time
from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from annotation.crowd.inhouse.models import PostedHit
from annotation.crowd.prolific.events import hook_url
from annotation.crowd.prolific.models import Hook, Study
from annotation.models import Campaign
from annotation.protocol.policy.crowds import PROLIFIC
from tests.annotation.crowd.prolific.conftest import Start
from tests.annotation.crowd.prolific.desk import Desk
from tests.annotation.crowd.prolific.world import DAY
from tests.annotation.support.hits import make_campaign

PLACE = "/panels/prolific/events"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Campaigns whose pass was asked for."""
    campaigns: list[int] = []
    monkeypatch.setattr(
        "annotation.web.panels.events.soon", lambda task, campaign: campaigns.append(campaign)
    )
    return campaigns


def desk_at(start: Start, hook_url: str) -> tuple[Desk, Campaign]:
    desk = Desk(start(loopback_hooks=True), hook_url=hook_url)
    desk.publish()
    campaign = make_campaign("study", **PROLIFIC.defaults())
    campaign.hit_type_id = PostedHit.objects.get().hit_type.type_id
    campaign.save()
    return desk, campaign


def until(holds: Callable[[], object], desk: Desk) -> None:
    for _ in range(100):
        if holds():
            return
        desk.prolific.clock.forward(6)
        desk.prolific.server.deliveries.deliver()
        time.sleep(0.02)
    raise AssertionError("It never came.")


@pytest.mark.django_db(transaction=True)
def test_who_completes_a_study_is_collected_at_once(
    start: Start, live_server: LiveServer, asked: list[int]
) -> None:
    desk, campaign = desk_at(start, live_server.url + PLACE)
    visit = desk.come("ada")
    desk.work(visit)
    until(lambda: asked, desk)
    while desk.prolific.server.deliveries.deliver():
        pass
    asked.clear()
    Study.objects.update(at_rest=True)
    desk.leave("ada", visit)
    until(lambda: asked, desk)
    assert set(asked) == {campaign.pk}
    assert not Study.objects.get().at_rest


@pytest.mark.django_db
def test_it_subscribes_once_and_again_after_it_was_disabled(start: Start) -> None:
    desk, _ = desk_at(start, "http://127.0.0.1:9/nobody")
    hooks, workspace = desk.prolific.client.hooks, desk.prolific.workspace
    made = list(hooks.subscriptions(workspace))
    assert sorted(one.event_type for one in made) == [
        "study.status.change", "submission.status.change",
    ]  # fmt: skip
    hooks.enable(made[0].subscription_id, enabled=False)
    desk.tend()
    assert not all(one.is_enabled for one in hooks.subscriptions(workspace))  # asked once a day
    desk.prolific.clock.forward(DAY)
    desk.tend()
    assert [one.is_enabled for one in hooks.subscriptions(workspace)] == [True, True]


@pytest.mark.django_db
@pytest.mark.parametrize("known", [True, False])
def test_an_event_that_prolific_has_not_signed_changes_nothing(
    client: Client, start: Start, asked: list[int], known: bool
) -> None:
    desk, _ = desk_at(start, "http://127.0.0.1:9/nobody")
    if not known:
        Hook.objects.all().delete()
    Study.objects.update(at_rest=True)
    body = json.dumps({"event_type": "study.status.change", "resource_id": desk.study_id})
    headers = {"X-Prolific-Request-Signature": "abc", "X-Prolific-Request-Timestamp": "1"}
    refused = client.post(PLACE, body, content_type="application/json", headers=headers)
    assert refused.status_code == 403
    assert client.post(PLACE, "x" * 70_000, content_type="text/plain").status_code == 413
    assert not asked
    assert Study.objects.get().at_rest


def test_only_a_site_that_prolific_can_reach_is_subscribed(
    settings: pytest.FixtureRequest,
) -> None:
    settings.PUBLIC_URL = "http://127.0.0.1:8000"  # type: ignore[attr-defined]
    assert hook_url() == ""
    settings.PUBLIC_URL = "https://quorum.example.org"  # type: ignore[attr-defined]
    assert hook_url() == f"https://quorum.example.org{PLACE}"
