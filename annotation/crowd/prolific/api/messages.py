"""Messages to and from participants."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from annotation.crowd.prolific.api.values import Record, id_of, text_of
from annotation.crowd.prolific.connection import ProlificConnection


@dataclass(frozen=True)
class Message:
    sender_id: str
    body: str  # of anybody: any text
    sent_at: datetime | None


class Messages:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection

    def send(self, participant_id: str, body: str, *, study_id: str) -> None:
        """Sent twice it arrives twice."""
        message = {
            "recipient_id": id_of(participant_id, "participant"),
            "body": text_of(body, "message"),
            "study_id": id_of(study_id, "study"),
        }
        self._connection.send("POST", "/messages/", message)

    def send_to_group(self, group_id: str, body: str) -> None:
        message = {
            "participant_group_id": id_of(group_id, "participant group"),
            "body": text_of(body, "message"),
        }
        self._connection.send("POST", "/messages/participant-group/", message)

    def with_participant(self, participant_id: str) -> Iterator[Message]:
        """Of the last 30 days, both ways."""
        user_id = id_of(participant_id, "participant")
        body = self._connection.get("/messages/", user_id=user_id)
        return map(_message, self._connection.results(body, "/messages/"))


def _message(value: object) -> Message:
    record = Record(value, "message")
    return Message(record.id("sender_id"), record.text("body"), record.time("sent_at"))
