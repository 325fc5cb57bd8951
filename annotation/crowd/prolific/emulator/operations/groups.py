"""Participant groups and their members."""

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import invalid
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.operations.workspaces import project_row, workspace_row
from annotation.crowd.prolific.emulator.pagination import by_offset, whole
from annotation.crowd.prolific.emulator.session import iso, new_id
from annotation.crowd.prolific.emulator.state import groups
from annotation.crowd.prolific.emulator.state.eligibility import CHECKS
from annotation.crowd.wire.session import Row


def list_groups(call: Call) -> Reply:
    workspace_id = call.query.get("workspace_id")
    if workspace_id is None and "project_id" in call.query:  # deprecated
        workspace_id = project_row(call, call.query["project_id"])["workspace_id"]
    if workspace_id is None:
        raise invalid("workspace_id", "This field is required.")
    query = (
        "SELECT g.*, (SELECT COUNT(*) FROM members m WHERE m.group_id = g.group_id) AS number"
        " FROM participant_groups g WHERE workspace_id = ? AND is_deleted = ? ORDER BY seq"
    )
    deleted = call.query.get("active", "true") == "false"
    return by_offset(call, query, (workspace_id, deleted), _answer)


def post_group(call: Call) -> Reply:
    fields = Fields(call.body)
    name = fields.text("name", required=True)
    workspace_id = fields.text("workspace_id", required=True)
    description = fields.text("description") or ""
    participants = fields.ids("participant_ids") or []
    fields.check()
    workspace_row(call, workspace_id)
    group_id = new_id()
    call.session.insert(
        "participant_groups",
        group_id=group_id,
        workspace_id=workspace_id,
        name=name,
        description=description,
        created_at=call.session.now,
    )
    groups.add(call.session, group_id, participants)
    return Reply(_answer(groups.group_row(call.session, group_id)), 201)


def get_group(call: Call, group_id: str) -> Reply:
    return Reply(_answer(groups.group_row(call.session, group_id)))


def patch_group(call: Call, group_id: str) -> Reply:
    """`participant_ids` are the members from now on."""
    group = groups.group_row(call.session, group_id)
    fields = Fields({"name": group["name"], **call.body})
    name = fields.text("name", required=True)
    description = fields.text("description")
    participants = fields.ids("participant_ids")
    fields.check()
    call.session.db.execute(
        "UPDATE participant_groups SET name = ?, description = COALESCE(?, description)"
        " WHERE group_id = ?",
        (name, description, group_id),
    )
    if participants is not None:
        members = call.session.rows(
            "SELECT participant_id FROM members WHERE group_id = ?", group_id
        )
        groups.remove(
            call.session, group_id, {it["participant_id"] for it in members} - {*participants}
        )
        groups.add(call.session, group_id, participants)
    return get_group(call, group_id)


def delete_group(call: Call, group_id: str) -> Reply:
    groups.group_row(call.session, group_id)
    call.session.db.execute(
        "UPDATE participant_groups SET is_deleted = 1 WHERE group_id = ?", (group_id,)
    )
    return Reply(status=204)


def list_members(call: Call, group_id: str) -> Reply:
    groups.group_row(call.session, group_id)
    members = call.session.rows("SELECT * FROM members WHERE group_id = ? ORDER BY seq", group_id)
    return whole(
        [
            {"participant_id": it["participant_id"], "datetime_created": iso(it["added_at"])}
            for it in members
        ]
    )


def add_members(call: Call, group_id: str) -> Reply:
    groups.group_row(call.session, group_id)
    groups.add(call.session, group_id, _participants(call))
    return list_members(call, group_id)


def remove_members(call: Call, group_id: str) -> Reply:
    groups.group_row(call.session, group_id)
    groups.remove(call.session, group_id, _participants(call))
    return list_members(call, group_id)


def _participants(call: Call) -> list[str]:
    fields = Fields(call.body)
    participants = fields.ids("participant_ids", required=True) or []
    fields.check()
    return participants


def list_filters(call: Call) -> Reply:
    """Those that the emulator knows."""
    return whole(
        [{"filter_id": name, "title": name, "type": "select", "data_type": "ID"} for name in CHECKS]
    )


def _answer(group: Row) -> dict[str, object]:
    return {
        "id": group["group_id"],
        "name": group["name"],
        "project_id": None,
        "workspace_id": group["workspace_id"],
        "organisation_id": None,
        "description": group["description"],
        "participant_count": group["number"],
        "is_deleted": bool(group["is_deleted"]),
        "feeder_studies": [],
    }


_MEMBERS = "/participant-groups/<group_id>/participants/"
OPERATIONS = (
    Operation("GET", "/participant-groups/", list_groups),
    Operation("POST", "/participant-groups/", post_group),
    Operation("GET", "/participant-groups/<group_id>/", get_group),
    Operation("PATCH", "/participant-groups/<group_id>/", patch_group),
    Operation("DELETE", "/participant-groups/<group_id>/", delete_group),
    Operation("GET", _MEMBERS, list_members),
    Operation("POST", _MEMBERS, add_members),
    Operation("DELETE", _MEMBERS, remove_members),
    Operation("GET", "/filters/", list_filters),
)
