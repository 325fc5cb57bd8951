"""What happens to HITs, recorded for those who asked to hear of it."""

import sqlite3
from typing import Any

import pytest

from tests.annotation.crowd.emulator.turk import DAY, Turk, Worker, question, refusal

QUEUE = "https://sqs.example/123/turk"
ASSIGNMENT = [
    f"Assignment{ending}"
    for ending in ("Accepted", "Submitted", "Returned", "Abandoned", "Approved", "Rejected")
]
HIT = [f"HIT{ending}" for ending in ("Created", "Extended", "Expired", "Reviewable", "Disposed")]


def settings(*events: str, **values: object) -> dict[str, object]:
    return {
        "Destination": QUEUE,
        "Transport": "SQS",
        "Version": "2014-08-15",
        "EventTypes": list(events or ASSIGNMENT + HIT),
    } | values


def heard_type(turk: Turk, *events: str, **values: object) -> str:
    type_id = turk.hit_type()
    turk.api.update_notification_settings(
        HITTypeId=type_id, Notification=settings(*events, **values)
    )
    return type_id


def events(turk: Turk) -> list[str]:
    turk.api.get_account_balance()  # carries out what is due
    return [row["event_type"] for row in turk.rows("SELECT event_type FROM events ORDER BY seq")]


def test_each_event_has_what_a_message_needs(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(hit_type=heard_type(turk))
    turk.clock.forward(5)
    assignment_id = ada.take(hit_id)
    created, accepted = turk.rows("SELECT * FROM events ORDER BY seq")
    assert dict(accepted) | {"event_id": ""} == {
        "seq": 2,
        "event_id": "",
        "event_type": "AssignmentAccepted",
        "at": turk.clock.now,
        "hit_type_id": turk.shown(hit_id)["HITTypeId"],
        "hit_id": hit_id,
        "assignment_id": assignment_id,
        "destination": QUEUE,
        "transport": "SQS",
        "version": "2014-08-15",
    }
    assert created["at"] == turk.clock.now - 5
    assert len(accepted["event_id"]) == 30
    assert accepted["event_id"] != created["event_id"]


def test_a_hit_that_is_worked_and_paid(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(hit_type=heard_type(turk), max_assignments=2)
    approved, rejected = ada.do(hit_id), bob.do(hit_id)
    turk.api.approve_assignment(AssignmentId=approved)
    turk.api.reject_assignment(AssignmentId=rejected, RequesterFeedback="no")
    turk.api.delete_hit(HITId=hit_id)
    assert events(turk) == [
        "HITCreated",
        "AssignmentAccepted", "AssignmentSubmitted", "AssignmentAccepted", "AssignmentSubmitted",
        "HITReviewable", "AssignmentApproved", "AssignmentRejected", "HITDisposed",
    ]  # fmt: skip


def test_a_hit_that_is_given_back_and_runs_out(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(hit_type=heard_type(turk))
    ada.give_back(ada.take(hit_id))
    bob.take(hit_id)
    turk.clock.forward(601)
    assert turk.counts(hit_id) == ("Assignable", 0, 1, 0)
    turk.clock.forward(DAY)
    assert events(turk) == [
        "HITCreated", "AssignmentAccepted", "AssignmentReturned", "AssignmentAccepted",
        "AssignmentAbandoned", "HITExpired", "HITReviewable",
    ]  # fmt: skip
    (expired,) = turk.rows("SELECT at FROM events WHERE event_type = 'HITExpired'")
    assert expired["at"] == turk.rows("SELECT expires_at FROM hits")[0]["expires_at"]


def test_a_hit_expired_under_somebodys_hands(turk: Turk, ada: Worker, bob: Worker) -> None:
    hit_id = turk.hit(hit_type=heard_type(turk), max_assignments=2)
    taken = ada.take(hit_id)
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    assert events(turk)[-1] == "HITExpired"
    (expired,) = turk.rows("SELECT at FROM events WHERE event_type = 'HITExpired'")
    assert expired["at"] == turk.clock.now
    ada.give_back(taken)
    assert events(turk)[-2:] == ["AssignmentReturned", "HITReviewable"]


def test_a_hit_that_is_extended(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(hit_type=heard_type(turk, *HIT))
    ada.do(hit_id)
    turk.api.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)
    assert events(turk) == ["HITCreated", "HITReviewable", "HITExtended"]
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=turk.clock.now + 2 * DAY)
    assert events(turk)[-1:] == ["HITExtended"]
    assert len(events(turk)) == 4
    turk.api.update_expiration_for_hit(HITId=hit_id, ExpireAt=turk.clock.now + DAY)
    assert len(events(turk)) == 4


def test_a_full_hit_that_expires_is_not_reviewable_twice(turk: Turk, ada: Worker) -> None:
    hit_id = turk.hit(hit_type=heard_type(turk, "HITReviewable", "HITExpired"))
    ada.do(hit_id)
    turk.clock.forward(DAY + 1)
    assert events(turk) == ["HITReviewable", "HITExpired"]


def test_work_approved_by_time_is_heard_of(turk: Turk, ada: Worker) -> None:
    type_id = heard_type(turk, "AssignmentApproved")
    turk.clock.forward(1)
    ada.do(turk.hit(hit_type=type_id, LifetimeInSeconds=DAY))
    turk.clock.forward(31 * DAY)
    assert events(turk) == ["AssignmentApproved"]


def test_only_what_was_asked_for_is_recorded(turk: Turk, ada: Worker) -> None:
    ada.do(turk.hit())
    type_id = heard_type(turk, "AssignmentSubmitted")
    ada.do(turk.hit(hit_type=turk.hit_type(Title="Other")))
    ada.do(turk.hit(hit_type=type_id))
    assert events(turk) == ["AssignmentSubmitted"]
    turk.api.update_notification_settings(HITTypeId=type_id, Active=False)
    ada.do(turk.hit(hit_type=type_id))
    assert events(turk) == ["AssignmentSubmitted"]
    turk.api.update_notification_settings(HITTypeId=type_id, Active=True)
    ada.do(turk.hit(hit_type=type_id))
    assert events(turk) == ["AssignmentSubmitted"] * 2
    turk.api.update_notification_settings(
        HITTypeId=type_id, Notification=settings("HITCreated", Destination=f"{QUEUE}2")
    )
    ada.do(turk.hit(hit_type=type_id))
    (last,) = turk.rows("SELECT * FROM events ORDER BY seq DESC LIMIT 1")
    assert (last["event_type"], last["destination"]) == ("HITCreated", f"{QUEUE}2")


def test_settings_can_come_switched_off(turk: Turk) -> None:
    type_id = turk.hit_type()
    turk.api.update_notification_settings(
        HITTypeId=type_id, Notification=settings("HITCreated"), Active=False
    )
    turk.hit(hit_type=type_id)
    assert events(turk) == []


@pytest.mark.parametrize("event", ["Ping", "HITReviewable"])
def test_a_test_event_belongs_to_no_hit(turk: Turk, event: str) -> None:
    turk.api.send_test_event_notification(Notification=settings("Ping"), TestEventType=event)
    (row,) = turk.rows("SELECT * FROM events")
    assert (row["event_type"], row["hit_type_id"], row["hit_id"]) == (event, None, None)
    assert (row["destination"], row["transport"]) == (QUEUE, "SQS")


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"Transport": "Email"}, "Destination must be an email address"),
        ({"Transport": "Email", "Destination": "a@b\n"}, "Destination"),
        ({"Transport": "SNS"}, "Destination must be the ARN of a topic"),
        ({"Destination": "queue"}, "Destination must be the URL of a queue"),
        ({"Destination": "https://x/" + "x" * 2000}, "Destination"),
        ({"Version": "2030-01-01"}, "Version must be 2014-08-15 or 2006-05-05"),
        ({"EventTypes": []}, "EventTypes must name one event"),
        ({"EventTypes": ["Ping"]}, "Ping is for SendTestEventNotification"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    turk: Turk, values: dict[str, Any], part: str
) -> None:
    given = {"HITTypeId": turk.hit_type(), "Notification": settings() | values}
    code, message = refusal(turk.api.update_notification_settings, **given)
    assert code == "InvalidParameterValue"
    assert part in message


def test_a_switch_needs_settings_and_a_call_needs_either(turk: Turk) -> None:
    call, type_id = turk.api.update_notification_settings, turk.hit_type()
    assert "no notification settings yet" in refusal(call, HITTypeId=type_id, Active=True)[1]
    assert "Notification or Active" in refusal(call, HITTypeId=type_id)[1]
    assert refusal(call, HITTypeId="NOSUCH", Active=True)[0] == "HITTypeDoesNotExist"


def test_an_event_of_a_refused_call_is_not_recorded(turk: Turk) -> None:
    type_id = heard_type(turk)
    refusal(
        turk.api.create_hit_with_hit_type,
        HITTypeId=type_id,
        LifetimeInSeconds=60,
        Question=question(),
        MaxAssignments=1_000_000,
    )
    assert events(turk) == []


@pytest.mark.parametrize("statement", ["UPDATE events SET at = 0", "DELETE FROM events"])
def test_the_record_of_events_is_append_only(turk: Turk, statement: str) -> None:
    turk.hit(hit_type=heard_type(turk))
    db = sqlite3.connect(turk.state)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)
    db.close()
