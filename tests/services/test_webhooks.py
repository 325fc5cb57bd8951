"""Events reach a webhook whose senders are killed in the middle of a request."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.models import Delivery, Event
from annotation.notifications.events import emit
from demo.services import Services
from tests.annotation.notifications.receiver import Receiver, receiving
from tests.annotation.support.events import webhook
from tests.services.conftest import start_stack
from tests.services.stack import wait_until

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("on_postgresql")]

EVENTS, KILLS = 30, 3
OPEN = {"QUORUM_WEBHOOKS_HTTP": "1", "QUORUM_WEBHOOKS_PRIVATE": "1"}


def test_killed_senders_lose_no_event(
    services: Services, tmp_path: Path, settings: Settings
) -> None:
    with (
        receiving(seconds=0.2) as receiver,
        start_stack(services, tmp_path, settings, OPEN) as stack,
    ):
        webhook(receiver.url)
        events = [emit(Event.Type.RELEASE, {"release": number}) for number in range(EVENTS)]
        for kill in range(1, KILLS + 1):
            wait_until(at_work(receiver, kill * EVENTS // (KILLS + 2)), "an event on its way")
            for worker in stack.workers:
                stack.restart(worker)
        wait_until(lambda: not open_deliveries(), "every delivery to end")
    assert set(receiver.ids) == {event.message_id for event in events}
    assert Delivery.objects.filter(attempts__gt=1).exists(), "no sender was killed at its work"
    assert not Delivery.objects.exclude(state="done").exists()


def at_work(receiver: Receiver, number: int) -> Callable[[], bool]:
    """The receiver has so many requests, and has not answered the last one."""
    return lambda: receiver.asked >= number and receiver.asked > receiver.answered


def open_deliveries() -> bool:
    return Delivery.objects.exclude(state__in=["done", "failed"]).exists()
