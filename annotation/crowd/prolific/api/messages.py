"""Messages to participants."""

from annotation.crowd.prolific.api.values import id_of, text_of
from annotation.crowd.prolific.connection import ProlificConnection


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
