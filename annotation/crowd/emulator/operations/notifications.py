"""MTurk's operations on notifications: of which events a requester wants to hear, and where."""

import json
import re
from collections.abc import Mapping
from typing import Any

from annotation.crowd.emulator.dispatch import Answer, Call, Operation, Site
from annotation.crowd.emulator.errors import invalid
from annotation.crowd.emulator.operations.hit_types import hit_type_record

VERSIONS = ("2014-08-15", "2006-05-05")
DESTINATIONS = {
    "Email": (r"[^@\s]+@[^@\s]+", "an email address"),
    "SQS": (r"https?://[^\s/]\S*", "the URL of a queue"),
    "SNS": (r"arn:\S+", "the ARN of a topic"),
}
MAX_DESTINATION = 2000


def update_notification_settings(call: Call) -> Answer:
    """New settings are active unless the call says otherwise."""
    type_id = hit_type_record(call, call.parameters["HITTypeId"])["hit_type_id"]
    given, active = (call.parameters.get(name) for name in ("Notification", "Active"))
    if given is not None:
        _store(call, type_id, given)
    elif active is None:
        raise invalid("Notification or Active must be given.")
    if active is not None:
        changed = call.session.db.execute(
            "UPDATE notification_settings SET active = ? WHERE hit_type_id = ?", (active, type_id)
        )
        if not changed.rowcount:
            raise invalid(f"HITType {type_id} has no notification settings yet: give Notification.")
    return {}


def _store(call: Call, type_id: str, given: Mapping[str, Any]) -> None:
    _check(call, given)
    if "Ping" in given["EventTypes"]:
        raise invalid("EventTypes: Ping is for SendTestEventNotification only.")
    call.session.db.execute(
        "INSERT OR REPLACE INTO notification_settings VALUES (?, ?, ?, ?, ?, 1)",
        (
            type_id,
            given["Destination"],
            given["Transport"],
            given["Version"],
            json.dumps(given["EventTypes"]),
        ),
    )


def check_destination(transport: str, destination: str) -> None:
    """As MTurk does, which nothing here sends to."""
    pattern, wanted = DESTINATIONS[transport]
    if len(destination) > MAX_DESTINATION or not re.fullmatch(pattern, destination):
        raise invalid(f"Destination must be {wanted} for the transport {transport}.")


TEST_SITE = Site(check_destination)


def _check(call: Call, given: Mapping[str, Any]) -> None:
    call.site.check_destination(given["Transport"], given["Destination"])
    if given["Version"] not in VERSIONS:
        raise invalid(f"Version must be {' or '.join(VERSIONS)}.")
    if not given["EventTypes"]:
        raise invalid("EventTypes must name one event at least.")


def send_test_event_notification(call: Call) -> Answer:
    given = call.parameters["Notification"]
    _check(call, given)
    call.session.db.execute(
        "INSERT INTO events (event_type, at, destination, transport, version)"
        " VALUES (?, ?, ?, ?, ?)",
        (
            call.parameters["TestEventType"],
            call.session.now,
            given["Destination"],
            given["Transport"],
            given["Version"],
        ),
    )
    return {}


OPERATIONS = {
    "UpdateNotificationSettings": Operation(update_notification_settings, writes=True),
    "SendTestEventNotification": Operation(send_test_event_notification, writes=True),
}
