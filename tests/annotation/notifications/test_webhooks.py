"""Every event arrives at least once, signed, whatever the receiver and the senders do."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from pytest_django import Settings
from standardwebhooks.webhooks import Webhook as Verifier

from annotation.access.audit_log import by_page
from annotation.models import AuditEntry, Delivery, Event
from annotation.notifications.deliver import WAITS, claim, deliver, headers
from annotation.notifications.events import emit
from annotation.notifications.webhooks import enable_webhook, resend, rotate_secret
from core.errors import UserError
from tests.annotation.notifications.receiver import Receiver, receiving
from tests.annotation.support.events import webhook

pytestmark = pytest.mark.django_db

# Of the standard's own libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VECTOR = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}')
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.WEBHOOKS_HTTP = settings.WEBHOOKS_PRIVATE = True
    with receiving() as running:
        yield running


class Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def happen(count: int = 1) -> list[Event]:
    return [emit(Event.Type.RELEASE, {"release": number}) for number in range(count)]


def ada() -> User:
    return User.objects.create_user("ada")


def test_it_signs_as_the_standard_s_vector_says() -> None:
    made = webhook()
    made.secret = SECRET
    name, at, body = VECTOR
    now = datetime.fromtimestamp(at, UTC)

    class Vector(Event):
        message_id = name  # type: ignore[assignment]

        class Meta:
            proxy = True
            app_label = "annotation"

    sent = headers(made, Vector(), body, now)
    assert (sent["webhook-id"], sent["webhook-timestamp"]) == (name, str(at))
    assert sent["webhook-signature"] == SIGNATURE


def test_an_event_arrives_once_signed_and_in_the_standard_s_form(receiver: Receiver) -> None:
    made = webhook(receiver.url)
    (event,) = happen()
    assert (deliver(), deliver()) == (1, 0)
    ((sent, body),) = receiver.got
    report = Verifier(made.secret).verify(body, sent)
    assert list(report) == ["type", "timestamp", "data"]
    assert (report["type"], report["data"]) == ("release.ready", {"release": 0})
    assert sent["webhook-id"] == event.message_id
    row = event.deliveries.get()
    assert (row.state, row.tries.get().status) == ("done", 204)


def test_who_chose_some_types_gets_those_alone(receiver: Receiver) -> None:
    webhook(receiver.url, types=["job.failed"])
    webhook("https://example.org/off", active=False)
    happen()
    assert not Delivery.objects.exists()


def test_an_event_is_not_there_without_what_it_tells_of(receiver: Receiver) -> None:
    webhook(receiver.url)
    with transaction.atomic():
        happen()
        transaction.set_rollback(True)
    assert not Event.objects.exists()
    assert not Delivery.objects.exists()


def test_a_receiver_that_is_down_for_an_hour_gets_every_event(
    receiver: Receiver, clock: Clock
) -> None:
    webhook(receiver.url)
    receiver.status = 503
    events = happen(3)
    for _ in range(60):
        assert deliver(clock=clock) == 0
        clock.now += timedelta(minutes=1)
    receiver.status = 204
    for _ in range(180):
        deliver(clock=clock)
        clock.now += timedelta(minutes=1)
    assert sorted(receiver.ids) == sorted(event.message_id for event in events)
    for event in events:
        statuses = list(event.deliveries.get().tries.order_by("pk").values_list("status"))
        assert statuses[-1] == (204,)
        assert set(statuses[:-1]) == {(503,)}


def test_killed_senders_lose_nothing(
    receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is sent, and between the sending and the record of it."""
    webhook(receiver.url)
    events = happen(2)
    assert claim(clock()) is not None  # and the process dies

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("annotation.notifications.deliver.record_attempt", dies)
        with pytest.raises(KeyboardInterrupt):
            deliver(clock=clock)
    assert receiver.ids == [events[1].message_id]
    assert deliver(clock=clock) == 0  # both claims hold
    clock.now += timedelta(minutes=6)
    assert deliver(clock=clock) == 2
    assert set(receiver.ids) == {event.message_id for event in events}
    assert not Delivery.objects.exclude(state="done").exists()


def test_the_waits_are_the_standard_s_and_then_it_has_failed(
    receiver: Receiver, clock: Clock
) -> None:
    webhook(receiver.url)
    receiver.status = 500
    (event,) = happen()
    for wait in WAITS:
        deliver(clock=clock)
        row = event.deliveries.get()
        assert row.retry_at is not None
        assert wait <= row.retry_at - clock.now <= wait * 1.1
        clock.now = row.retry_at
    assert sum(WAITS, timedelta()) == timedelta(hours=75, minutes=35, seconds=5)
    deliver(clock=clock)
    assert event.deliveries.get().state == "failed"
    assert receiver.asked == 10


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 429])
def test_no_redirect_is_followed_and_any_other_answer_is_none(
    receiver: Receiver, status: int
) -> None:
    webhook(receiver.url)
    receiver.status = status
    (event,) = happen()
    assert deliver() == 0
    assert receiver.asked == 1
    assert event.deliveries.get().tries.get().status == status


def test_gone_disables_the_webhook_and_the_log_can_send_again(receiver: Receiver) -> None:
    made = webhook(receiver.url)
    receiver.status = 410
    _, second = happen(2)
    deliver()
    made.refresh_from_db()
    assert (made.active, made.fault) == (False, "The receiver answered 410 Gone.")
    assert set(Delivery.objects.values_list("state", flat=True)) == {"cancelled"}
    user, receiver.status = by_page(ada()), 204
    with pytest.raises(UserError, match="enable it first"):
        resend(second.deliveries.get(), by=user)
    enable_webhook(made, by=user)
    resend(second.deliveries.select_related("webhook").get(), by=user)
    with pytest.raises(UserError, match="still being sent"):
        resend(second.deliveries.select_related("webhook").get(), by=user)
    assert deliver() == 1
    assert receiver.ids == [second.message_id]
    assert list(AuditEntry.objects.order_by("pk").values_list("verb", flat=True)) == [
        "enable-webhook", "resend",
    ]  # fmt: skip


def test_while_a_secret_rotates_both_sign(receiver: Receiver, clock: Clock) -> None:
    made = webhook(receiver.url)
    old = made.secret
    new = rotate_secret(made, by=by_page(ada()))
    happen()
    deliver(clock=clock)
    sent, body = receiver.got[-1]
    for secret in (old, new):
        assert Verifier(secret).verify(body, sent)
    clock.now += timedelta(hours=25)
    happen()
    deliver(clock=clock)
    assert " " not in receiver.got[-1][0]["webhook-signature"]
    assert new not in json.dumps(list(AuditEntry.objects.values_list("details", flat=True)))


def test_one_that_fails_keeps_no_other_from_its_events(receiver: Receiver) -> None:
    webhook("http://127.0.0.1:1/closed")
    webhook(receiver.url)
    events = happen(2)
    assert deliver() == 2
    assert receiver.ids == [event.message_id for event in events]
    assert Delivery.objects.filter(state="pending").count() == 2


def test_neither_secret_nor_address_is_logged(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.WEBHOOKS_HTTP = settings.WEBHOOKS_PRIVATE = True
    made = webhook("http://127.0.0.1:1/a-password-of-theirs")
    happen()
    with caplog.at_level(logging.DEBUG):
        deliver()
    assert "event" in caplog.text
    assert "a-password" not in caplog.text
    assert made.secret.removeprefix("whsec_") not in caplog.text


def test_events_never_change() -> None:
    (event,) = happen()
    for change in (lambda: event.delete(), lambda: Event.objects.update(data={})):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
