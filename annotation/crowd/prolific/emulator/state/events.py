"""Events for webhooks: written where something happens, delivered by another thread."""

import json

from annotation.crowd.prolific.emulator.session import Session, new_id

SUBMISSION_STATUS = "submission.status.change"
STUDY_STATUS = "study.status.change"
STUDY_PROGRESS = "study.progress.change"
EVENT_TYPES = {
    SUBMISSION_STATUS: "The status of a submission has changed.",
    STUDY_STATUS: "The status of a study has changed.",
    STUDY_PROGRESS: "Places of a study were taken or given up.",
}


def emit(
    session: Session, event_type: str, workspace_id: str, resource_id: str, **more: object
) -> None:
    """For each subscription that gets it."""
    payload = {"resource_id": resource_id, "event_type": event_type, **more}
    for subscription in session.rows(
        "SELECT subscription_id FROM subscriptions WHERE workspace_id = ? AND event_type = ?"
        " AND is_enabled AND (is_confirmed OR ?)",
        workspace_id,
        event_type,
        session.readings.unconfirmed_hooks,
    ):
        session.insert(
            "hook_events",
            event_id=new_id(),
            subscription_id=subscription["subscription_id"],
            resource_id=resource_id,
            # With json's own separators: receivers may sign what they have parsed and dumped.
            payload=json.dumps(payload),
            created_at=session.now,
            updated_at=session.now,
            next_at=session.now,
        )
