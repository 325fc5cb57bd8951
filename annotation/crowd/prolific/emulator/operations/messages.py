"""Messages that the researcher sends and reads."""

from collections.abc import Iterable

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import invalid
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.pagination import whole
from annotation.crowd.prolific.emulator.session import iso
from annotation.crowd.prolific.emulator.state import groups, messages, studies
from annotation.crowd.wire.session import Row

KEPT_SECONDS = 30 * 86_400


def post_message(call: Call) -> Reply:
    fields = Fields(call.body)
    recipient = fields.text("recipient_id", required=True) or ""
    study_id = fields.text("study_id", required=True)
    fields.check()
    return _send(call, [recipient], study_id)


def post_bulk(call: Call) -> Reply:
    fields = Fields(call.body)
    recipients = fields.ids("ids", required=True) or []
    study_id = fields.text("study_id", required=True)
    fields.check()
    return _send(call, recipients, study_id)


def post_to_group(call: Call) -> Reply:
    fields = Fields(call.body)
    group_id = fields.text("participant_group_id", required=True)
    study_id = fields.text("study_id")
    fields.check()
    groups.group_row(call.session, group_id)
    members = call.session.rows("SELECT participant_id FROM members WHERE group_id = ?", group_id)
    return _send(call, [it["participant_id"] for it in members], study_id)


def _send(call: Call, recipients: Iterable[str], study_id: str | None) -> Reply:
    fields = Fields(call.body)
    body = fields.text("body", required=True, most=call.session.readings.message_limit) or ""
    fields.check()
    if study_id is not None:
        studies.study_row(call.session, study_id)
    for recipient in recipients:
        if (
            call.session.row("SELECT 1 FROM participants WHERE participant_id = ?", recipient)
            is None
        ):
            raise invalid("recipient_id", f"{ascii(recipient)[:40]} is not a participant.")
        messages.send(
            call.session,
            sender_id=messages.researcher_id(call.session),
            recipient_id=recipient,
            body=body,
            study_id=study_id,
        )
    return Reply(status=204)


def list_messages(call: Call) -> Reply:
    """Of the last 30 days, with one participant or since a time."""
    fields = Fields(dict(call.query))
    since = fields.time("created_after")
    fields.check()
    user_id = call.query.get("user_id")
    if user_id is None and since is None:
        raise invalid("user_id", "user_id or created_after is required.")
    rows = call.session.rows(
        "SELECT * FROM messages WHERE sent_at > ? AND (? IS NULL OR ? IN (sender_id, recipient_id))"
        " ORDER BY seq",
        max(since or 0, call.session.now - KEPT_SECONDS),
        user_id,
        user_id,
    )
    return whole([message_answer(row) for row in rows])


def list_unread(call: Call) -> Reply:
    """What participants wrote in the last 30 days: no call of the API marks it as read."""
    rows = call.session.rows(
        "SELECT * FROM messages WHERE sent_at > ? AND recipient_id = ? ORDER BY seq",
        call.session.now - KEPT_SECONDS,
        messages.researcher_id(call.session),
    )
    return whole([message_answer(row) for row in rows])


def message_answer(row: Row) -> dict[str, object]:
    data = {"study_id": row["study_id"], "category": "other"} if row["study_id"] else None
    return {
        "id": row["message_id"],
        "sender_id": row["sender_id"],
        "body": row["body"],
        "sent_at": iso(row["sent_at"]),
        "type": "user",
        "channel_id": None,
        "data": data,
    }


OPERATIONS = (
    Operation("POST", "/messages/", post_message, bare=True),
    Operation("POST", "/messages/bulk/", post_bulk, bare=True),
    Operation("POST", "/messages/participant-group/", post_to_group, bare=True),
    Operation("GET", "/messages/", list_messages, bare=True),
    Operation("GET", "/messages/unread/", list_unread, bare=True),
)
