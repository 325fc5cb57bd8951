"""What moves a study from one status to the next."""

from collections.abc import Callable, Mapping

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import ApiError, invalid
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.operations.studies import (
    publish_at,
    reopen,
    study_answer,
)
from annotation.crowd.prolific.emulator.operations.study_fields import is_low_pay
from annotation.crowd.prolific.emulator.session import load
from annotation.crowd.prolific.emulator.state import studies
from annotation.crowd.wire.session import Row


def move(call: Call, study_id: str) -> Reply:
    fields = Fields(call.body)
    action = fields.choice("action", ACTIONS, required=True)
    fields.check()
    study = studies.study_row(call.session, study_id)
    starts, run = ACTIONS[action or ""]
    if study["status"] not in starts and not _by_reading(call, study, action):
        raise ApiError(
            call.session.readings.illegal_transition,
            f"{action} is not possible for a study that is {study['status']}.",
        )
    run(call, study)
    studies.refresh(call.session, study_id)
    return Reply(study_answer(call, study_id))


def _by_reading(call: Call, study: Row, action: str | None) -> bool:
    return (
        action == "START"
        and study["status"] == "AWAITING REVIEW"
        and call.session.readings.start_after_review
    )


def _publish(call: Call, study: Row) -> None:
    if call.session.readings.low_pay == "publish":
        fields = {**load(study["fields"]), "reward": study["reward_cents"]}
        if is_low_pay(fields, study["currency"]):
            raise invalid("reward", "This pays less than the minimum per hour.")
    studies.begin_publishing(call.session, study)


def _schedule(call: Call, study: Row) -> None:
    at = publish_at(call) or study["publish_at"]
    if at is None or at <= call.session.now:
        raise invalid("publish_at", "A time to come is required.")
    call.session.db.execute(
        "UPDATE studies SET publish_at = ? WHERE study_id = ?", (at, study["study_id"])
    )
    studies.set_status(call.session, study, "SCHEDULED")


def _cancel(call: Call, study: Row) -> None:
    studies.set_status(call.session, study, "UNPUBLISHED")


def _pause(call: Call, study: Row) -> None:
    studies.set_status(call.session, study, "PAUSED")


def _start(call: Call, study: Row) -> None:
    reopen(call, study["study_id"])


def _stop(call: Call, study: Row) -> None:
    call.session.db.execute(
        "UPDATE studies SET stopped = 1 WHERE study_id = ?", (study["study_id"],)
    )
    open_reviews = studies.counts(call.session, study["study_id"])["AWAITING REVIEW"]
    reading = call.session.readings.stop_with_open_reviews
    studies.set_status(call.session, study, reading if open_reviews else "COMPLETED")


ACTIONS: Mapping[str, tuple[tuple[str, ...], Callable[[Call, Row], None]]] = {
    "PUBLISH": (("UNPUBLISHED",), _publish),
    "SCHEDULE_PUBLISH": (("UNPUBLISHED",), _schedule),
    "CANCEL_PUBLISH": (("SCHEDULED",), _cancel),
    "PAUSE": (("ACTIVE",), _pause),
    "START": (("PAUSED",), _start),
    "STOP": (("ACTIVE", "PAUSED"), _stop),
}
OPERATIONS = (Operation("POST", "/studies/<study_id>/transition/", move),)
