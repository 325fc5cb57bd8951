"""Submissions: read, approved, rejected, completed by a code, asked back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.values import Record, id_of, ids_of, text_of
from annotation.crowd.prolific.connection import ProlificConnection

MOST_AT_ONCE = 1_000  # ids of a bulk approval, as Prolific recommends
LEAST_MESSAGE = 100  # characters that a rejection needs
RejectionCategory = Literal[
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
]


@dataclass(frozen=True)
class StudySubmission:
    """Named apart from the port's Submission, which has answers."""

    submission_id: str
    participant_id: str
    study_id: str | None  # lists leave it out
    status: str
    started_at: datetime | None
    completed_at: datetime | None
    code: str | None  # that the participant entered: any text
    return_requested: bool
    bonus_cents: tuple[int, ...]  # each that was paid


class Submissions:
    def __init__(self, connection: ProlificConnection) -> None:
        self._connection = connection

    def of_study(self, study_id: str) -> Iterator[StudySubmission]:
        """Where others move while the pages are read, one can be missing until the next time."""
        path = f"/studies/{id_of(study_id, 'study')}/submissions/"
        return map(_submission, self._connection.pages(path, ordering="started_at"))

    def get(self, submission_id: str) -> StudySubmission:
        return _submission(self._connection.get(_path(submission_id)))

    def approve(self, submission_id: str) -> StudySubmission:
        return self._transition(submission_id, action="APPROVE")

    def reject(
        self, submission_id: str, *, category: RejectionCategory, message: str
    ) -> StudySubmission:
        """The participant reads the message."""
        if len(text_of(message, "message")) < LEAST_MESSAGE:
            raise CrowdError(
                f"A rejection at Prolific needs a message of at least {LEAST_MESSAGE} characters,"
                f" not {len(message)}: say more.",
                permanent=True,
            )
        return self._transition(
            submission_id, action="REJECT", rejection_category=category, message=message
        )

    def complete(
        self, submission_id: str, code: str, *, percentage: int | None = None
    ) -> StudySubmission:
        """By a code whose actor is the researcher; a dynamic payment needs a percentage."""
        body: dict[str, object] = {"completion_code": code}
        if percentage is not None:
            body["completion_code_data"] = {"percentage_of_reward": percentage}
        return self._transition(submission_id, action="COMPLETE", **body)

    def unreject(self, submission_id: str) -> StudySubmission:
        """Prolific lists the action and does not say who may use it."""
        return self._transition(submission_id, action="UNREJECT")

    def _transition(self, submission_id: str, **body: object) -> StudySubmission:
        """Idempotent, as documented: the second of two requests is ignored."""
        path = f"{_path(submission_id)}transition/"
        return _submission(self._connection.call("POST", path, body, repeatable=True))

    def approve_in_bulk(self, submission_ids: Sequence[str]) -> None:
        """Carried out in the following minutes."""
        known = ids_of(submission_ids, "submission")
        for start in range(0, len(known), MOST_AT_ONCE):
            body = {"submission_ids": known[start : start + MOST_AT_ONCE]}
            path = "/submissions/bulk-approve/"
            self._connection.send("POST", path, body, repeatable=True)

    def request_return(self, submission_id: str, reason: str) -> None:
        """A message that may arrive twice; the status stays as it is."""
        body = {"request_return_reasons": [text_of(reason, "reason")]}
        self._connection.send("POST", f"{_path(submission_id)}request-return/", body)


def _path(submission_id: str) -> str:
    return f"/submissions/{id_of(submission_id, 'submission')}/"


def _submission(value: object) -> StudySubmission:
    """Lists and details name some fields differently."""
    record = Record(value, "submission")
    name = "participant_id" if record.optional_text("participant_id") else "participant"
    return StudySubmission(
        submission_id=record.id(),
        participant_id=record.id(name),
        study_id=record.id("study_id") if record.optional_text("study_id") else None,
        status=record.text("status"),
        started_at=record.time("started_at"),
        completed_at=record.time("completed_at"),
        code=record.optional_text("study_code", "entered_code"),
        return_requested=record.is_set("return_requested"),
        bonus_cents=record.numbers("bonus_payments"),
    )
