"""A requester hears by webhook of what happens to its HITs, in messages like MTurk's."""

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from standardwebhooks.webhooks import Webhook as Verifier

from annotation.crowd.emulator.state import assignments
from annotation.crowd.turk.accounts import create_account, renew_keys
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.jobs.tasks import deliver_events
from annotation.models import Delivery, Event, Webhook
from annotation.notifications.deliver import deliver
from annotation.notifications.turk import take_turk_events
from tests.annotation.notifications.receiver import Receiver, receiving
from tests.annotation.support.events import webhook
from tests.annotation.support.turk import client_of, post_hit

ALL = ["HITCreated", "AssignmentAccepted", "AssignmentSubmitted", "HITReviewable"]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.WEBHOOKS_HTTP = settings.WEBHOOKS_PRIVATE = True
    with receiving() as running:
        yield running


@pytest.fixture
def lab(tmp_path: Path, settings: Settings, live_server: LiveServer) -> RequesterAccount:
    settings.DATA_DIR = tmp_path
    return create_account("lab")


@pytest.fixture
def labs(lab: RequesterAccount, live_server: LiveServer) -> Any:
    return client_of(lab, live_server.url)


def notification(url: str, **about: object) -> dict[str, object]:
    version = {"Transport": "SQS", "Version": "2014-08-15", "EventTypes": ALL}
    return {"Destination": url, **version, **about}


def heard_hit(client: Any, url: str, **about: object) -> str:
    """A HIT of a type of whose events the URL hears."""
    first = client.get_hit(HITId=post_hit(client))["HIT"]
    given = notification(url, **about)
    client.update_notification_settings(HITTypeId=first["HITTypeId"], Notification=given)
    return post_hit(client)


def do(lab: RequesterAccount, hit_id: str) -> str:
    with store_of(lab, Environment.SANDBOX).writing() as session:
        assignments.register(session, "AADA", None)
        made = assignments.accept(session, "AADA", hit_id)
        assignments.submit(session, made, [("a", "1")], approved_after=None)
    return made


def events(body: bytes) -> list[str]:
    return [one["EventType"] for one in json.loads(body)["Events"]]


def test_what_happens_to_a_hit_arrives_in_mturk_s_form(
    lab: RequesterAccount, labs: Any, receiver: Receiver
) -> None:
    hit_id = heard_hit(labs, receiver.url)
    before = datetime.now(UTC).replace(microsecond=0)
    assignment_id = do(lab, hit_id)
    deliver_events()
    deliver_events()
    [(headers, body)] = receiver.got
    key = base64.b64encode(lab.secret_access_key.encode()).decode()
    message = Verifier(key).verify(body, headers)
    assert {**message, "Events": 4} == {
        "EventDocVersion": "2014-08-15",
        "EventDocId": headers["webhook-id"].removeprefix("evt_"),
        "CustomerId": "lab",
        "Events": 4,
    }
    created, accepted, submitted, reviewable = message["Events"]
    at = datetime.fromisoformat(submitted.pop("EventTimestamp"))
    assert before <= at <= datetime.now(UTC)
    ids = {"HITTypeId": labs.get_hit(HITId=hit_id)["HIT"]["HITTypeId"], "HITId": hit_id}
    work = {"EventType": "AssignmentSubmitted", **ids, "AssignmentId": assignment_id}
    assert submitted == work
    assert [created["EventType"], accepted["AssignmentId"]] == ["HITCreated", assignment_id]
    assert reviewable == {
        "EventType": "HITReviewable",
        "EventTimestamp": reviewable["EventTimestamp"],
        **ids,
    }


def test_a_receiver_that_was_down_gets_every_event_signed_with_the_key_of_that_day(
    lab: RequesterAccount, labs: Any, receiver: Receiver
) -> None:
    hit_id = heard_hit(labs, receiver.url)
    receiver.status = 503
    take_turk_events()
    assert deliver() == 0
    do(lab, hit_id)
    take_turk_events()
    renew_keys(lab)
    receiver.status = 204
    later = timezone.now() + timedelta(minutes=6)
    assert deliver(clock=lambda: later) == 2
    assert [events(body) for _, body in receiver.got] == [ALL[:1], ALL[1:]]
    key = base64.b64encode(lab.secret_access_key.encode()).decode()
    for headers, body in receiver.got:
        signed = Verifier(key).sign(headers["webhook-id"], later, body.decode())
        assert headers["webhook-signature"] == signed


def test_each_receiver_hears_its_own_and_the_site_s_webhooks_hear_nothing(
    lab: RequesterAccount, labs: Any, receiver: Receiver, live_server: LiveServer
) -> None:
    webhook(receiver.url)
    webhook("https://example.org/all")
    other = client_of(create_account("other"), live_server.url, "/turk/sandbox")
    heard_hit(labs, receiver.url)
    heard_hit(other, receiver.url)
    for path in ("a", "b"):
        test = notification(f"{receiver.url}/{path}", Transport="SNS")
        other.send_test_event_notification(Notification=test, TestEventType="Ping")
    deliver_events()
    messages = [json.loads(body) for _, body in receiver.got]
    assert [(one["CustomerId"], one["Events"][0]["EventType"]) for one in messages] == [
        ("lab", "HITCreated"),
        ("other", "HITCreated"),
        ("other", "Ping"),
        ("other", "Ping"),
    ]
    assert [len(one["Events"][0]) for one in messages] == [4, 4, 2, 2]
    assert Delivery.objects.exclude(webhook__requester=None).count() == 4
    assert Delivery.objects.count() == 4


def test_many_events_come_in_few_messages_and_each_once(
    lab: RequesterAccount, labs: Any, receiver: Receiver
) -> None:
    heard_hit(labs, receiver.url)
    with store_of(lab, Environment.SANDBOX).writing() as session:
        session.db.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)"
            " INSERT INTO events (event_type, at, destination, transport, version)"
            " SELECT 'Ping', i, ?, 'SQS', '2014-08-15' FROM n",
            (receiver.url,),
        )
    deliver_events()
    said = [json.loads(body)["Events"] for _, body in receiver.got]
    assert [len(one) for one in said] == [100, 100, 51]
    assert len({event["EventTimestamp"] for one in said for event in one}) == 251


def test_of_two_that_take_the_same_events_one_does(
    lab: RequesterAccount, labs: Any, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard_hit(labs, receiver.url)

    def old_and_new(environment: Environment) -> list[object]:
        """What another process read before, and what there is."""
        return [(stale, store_of(lab, environment)), (lab, store_of(lab, environment))]

    stale = RequesterAccount.objects.get()
    monkeypatch.setattr("annotation.notifications.turk.open_stores", old_and_new)
    take_turk_events()
    assert Event.objects.count() == 1


def test_a_receiver_that_is_gone_hears_no_more_until_staff_enable_it(
    labs: Any, receiver: Receiver
) -> None:
    receiver.status = 410
    heard_hit(labs, receiver.url)
    deliver_events()
    receiver.status = 204
    post_hit(labs)
    deliver_events()
    assert receiver.asked == 1
    assert [one.active for one in Webhook.objects.all()] == [False]


@pytest.mark.parametrize(
    ("url", "about", "part"),
    [
        ("https://127.0.0.1/hook", {}, "127.0.0.1 is no public address"),
        ("https://[::ffff:10.0.0.1]/hook", {}, "is no public address"),
        ("http://example.org/hook", {}, "The address must begin with https://"),
        ("https://ada:secret@example.org/", {}, "must have no user, password"),
        ("arn:aws:sns:us-east-1:1:t", {"Transport": "SNS"}, "Destination must be a URL"),
        ("https://sqs.us-east-1.amazonaws.com/1/q", {"Transport": "SQS"}, "no queue of AWS"),
        ("ada@example.org", {"Transport": "Email"}, "Transport must be SQS or SNS"),
    ],
)
def test_a_destination_that_nothing_may_be_sent_to_is_refused(
    labs: Any, url: str, about: dict[str, str], part: str
) -> None:
    given = notification(url, **about)
    type_id = labs.get_hit(HITId=post_hit(labs))["HIT"]["HITTypeId"]
    for call, other in (
        (labs.update_notification_settings, {"HITTypeId": type_id}),
        (labs.send_test_event_notification, {"TestEventType": "Ping"}),
    ):
        with pytest.raises(ClientError, match=re.escape(part)):
            call(Notification=given, **other)


def test_a_name_that_leads_inside_is_not_connected_to(
    labs: Any, receiver: Receiver, settings: Settings
) -> None:
    heard_hit(labs, receiver.url.replace("127.0.0.1", "localhost"))
    settings.WEBHOOKS_PRIVATE = False
    deliver_events()
    assert receiver.asked == 0
    [attempt] = Delivery.objects.get().tries.all()
    assert "is no public address" in attempt.error
