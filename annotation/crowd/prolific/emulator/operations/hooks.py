"""Webhooks: secrets, subscriptions with their confirmation, and the record of events."""

import secrets
from urllib.parse import urlsplit

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import ApiError, invalid, unknown
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.operations.workspaces import workspace_row
from annotation.crowd.prolific.emulator.pagination import by_offset, whole
from annotation.crowd.prolific.emulator.session import iso, load, new_id
from annotation.crowd.prolific.emulator.state.events import EVENT_TYPES
from annotation.crowd.wire.session import Row

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def list_event_types(call: Call) -> Reply:
    return whole([{"event_type": it, "description": text} for it, text in EVENT_TYPES.items()])


def list_secrets(call: Call) -> Reply:
    rows = call.session.rows("SELECT * FROM hook_secrets ORDER BY seq")
    wanted = call.query.get("workspace_id")
    return whole([_secret(row) for row in rows if wanted in (None, row["workspace_id"])])


def post_secret(call: Call) -> Reply:
    """In place of the one before: a workspace has one at a time."""
    workspace_id = _workspace_of(call)
    call.session.db.execute("DELETE FROM hook_secrets WHERE workspace_id = ?", (workspace_id,))
    secret_id = new_id()
    value = secrets.token_urlsafe(32)
    call.session.insert("hook_secrets", secret_id=secret_id, workspace_id=workspace_id, value=value)
    row = call.session.row("SELECT * FROM hook_secrets WHERE secret_id = ?", secret_id)
    assert row is not None
    return Reply(_secret(row), 201)


def list_subscriptions(call: Call) -> Reply:
    query = "SELECT * FROM subscriptions WHERE ? IN (workspace_id, '') ORDER BY seq"
    return by_offset(call, query, (call.query.get("workspace_id", ""),), _answer)


def post_subscription(call: Call) -> Reply:
    workspace_id = _workspace_of(call)
    fields = Fields(call.body)
    event_type = fields.choice("event_type", EVENT_TYPES, required=True)
    target = _target(call, fields, required=True)
    fields.check()
    if not call.session.row("SELECT 1 FROM hook_secrets WHERE workspace_id = ?", workspace_id):
        raise ApiError(400, "Create a secret for the workspace first.")
    subscription_id, handshake = new_id(), secrets.token_urlsafe(24)
    call.session.insert(
        "subscriptions",
        subscription_id=subscription_id,
        workspace_id=workspace_id,
        event_type=event_type,
        target_url=target,
        handshake=handshake,
        created_at=call.session.now,
    )
    answer = _answer(_subscription(call, subscription_id))
    shape = [answer] if call.session.readings.subscription_shape == "list" else answer
    return Reply(shape, 201, {"X-Hook-Secret": handshake})


def confirm_subscription(call: Call, subscription_id: str) -> Reply:
    subscription = _subscription(call, subscription_id)
    secret = call.body.get("secret")
    if not isinstance(secret, str) or not secrets.compare_digest(
        secret.encode(), subscription["handshake"].encode()
    ):
        raise invalid("secret", "This is not the secret of the subscription.")
    call.session.db.execute(
        "UPDATE subscriptions SET is_confirmed = 1 WHERE subscription_id = ?", (subscription_id,)
    )
    return Reply(_answer(subscription))


def get_subscription(call: Call, subscription_id: str) -> Reply:
    return Reply(_answer(_subscription(call, subscription_id)))


def patch_subscription(call: Call, subscription_id: str) -> Reply:
    _subscription(call, subscription_id)
    fields = Fields(call.body)
    event_type = fields.choice("event_type", EVENT_TYPES)
    target = _target(call, fields, required=False)
    enabled = call.body.get("is_enabled")
    if enabled is not None and not isinstance(enabled, bool):
        fields.refuse("is_enabled", "Must be a valid boolean.")
    fields.check()
    call.session.db.execute(
        "UPDATE subscriptions SET event_type = COALESCE(?, event_type), target_url ="
        " COALESCE(?, target_url), is_enabled = COALESCE(?, is_enabled), failing_since = NULL"
        " WHERE subscription_id = ?",
        (event_type, target, enabled, subscription_id),
    )
    return get_subscription(call, subscription_id)


def delete_subscription(call: Call, subscription_id: str) -> Reply:
    _subscription(call, subscription_id)
    call.session.db.execute(
        "DELETE FROM subscriptions WHERE subscription_id = ?", (subscription_id,)
    )
    return Reply(status=204)


def list_events(call: Call, subscription_id: str) -> Reply:
    subscription = _subscription(call, subscription_id)

    def item(row: Row) -> dict[str, object]:
        return {
            "id": row["event_id"],
            "datetime_created": iso(row["created_at"]),
            "datetime_updated": iso(row["updated_at"]),
            "event_type": load(row["payload"])["event_type"],
            "resource_id": row["resource_id"],
            "status": row["status"],
            "target_url": subscription["target_url"],
            "payload": load(row["payload"]),
        }

    query = "SELECT * FROM hook_events WHERE subscription_id = ? ORDER BY seq"
    return by_offset(call, query, (subscription_id,), item, limit=100)


def _workspace_of(call: Call) -> str:
    fields = Fields(call.body)
    workspace_id = fields.text("workspace_id", required=True)
    fields.check()
    return str(workspace_row(call, workspace_id)["workspace_id"])


def _target(call: Call, fields: Fields, *, required: bool) -> str | None:
    text = fields.text("target_url", required=required)
    try:
        parts = urlsplit(text or "https://x")
        scheme, host = parts.scheme, parts.hostname
    except ValueError:
        scheme, host = "", None
    local = call.session.readings.loopback_hooks and host in LOOPBACK
    if not host or not (scheme == "https" or (scheme == "http" and local)):
        fields.refuse("target_url", "Enter a public https:// address.")
    return text


def _subscription(call: Call, subscription_id: str) -> Row:
    row = call.session.row("SELECT * FROM subscriptions WHERE subscription_id = ?", subscription_id)
    if row is None:
        raise unknown("subscription", subscription_id)
    return row


def _secret(row: Row) -> dict[str, object]:
    return {"id": row["secret_id"], "value": row["value"], "workspace_id": row["workspace_id"]}


def _answer(row: Row) -> dict[str, object]:
    return {
        "id": row["subscription_id"],
        "workspace_id": row["workspace_id"],
        "event_type": row["event_type"],
        "target_url": row["target_url"],
        "is_enabled": bool(row["is_enabled"]),
    }


_ONE = "/hooks/subscriptions/<subscription_id>/"
OPERATIONS = (
    Operation("GET", "/hooks/event-types/", list_event_types),
    Operation("GET", "/hooks/secrets/", list_secrets),
    Operation("POST", "/hooks/secrets/", post_secret),
    Operation("GET", "/hooks/subscriptions/", list_subscriptions),
    Operation("POST", "/hooks/subscriptions/", post_subscription),
    Operation("GET", _ONE, get_subscription),
    Operation("POST", _ONE, confirm_subscription),
    Operation("PATCH", _ONE, patch_subscription),
    Operation("DELETE", _ONE, delete_subscription),
    Operation("GET", f"{_ONE}events/", list_events),
)
