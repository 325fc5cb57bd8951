"""The account, workspaces with their wallets, and projects."""

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import unknown
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.pagination import by_offset
from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.prolific.emulator.state import money
from annotation.crowd.prolific.emulator.state.messages import researcher_id
from annotation.crowd.prolific.emulator.store import create_project, create_workspace
from annotation.crowd.wire.session import Row

EMAIL = "researcher@emulator.invalid"
CURRENCIES = ("GBP", "USD")
RECOMMENDED = [
    {"currency": "GBP", "min_reward_per_hour": 600, "recommended_reward_per_hour": 900},
    {"currency": "USD", "min_reward_per_hour": 800, "recommended_reward_per_hour": 1200},
]


def me(call: Call) -> Reply:
    return Reply({"id": researcher_id(call.session), "email": EMAIL})


def list_workspaces(call: Call) -> Reply:
    query = "SELECT * FROM workspaces ORDER BY seq"
    return by_offset(call, query, (), lambda row: _workspace(call, row), limit=20)


def post_workspace(call: Call) -> Reply:
    fields = Fields(call.body)
    title = fields.text("title", required=True)
    description = fields.text("description") or ""
    currency = fields.choice("currency_code", CURRENCIES) or "USD"
    fields.check()
    workspace_id = create_workspace(
        call.session, title=title or "", description=description, currency=currency
    )
    return Reply(_workspace(call, workspace_row(call, workspace_id)), 201)


def get_workspace(call: Call, workspace_id: str) -> Reply:
    return Reply(_workspace(call, workspace_row(call, workspace_id)))


def patch_workspace(call: Call, workspace_id: str) -> Reply:
    _name_anew(call, "workspaces", workspace_row(call, workspace_id))
    return get_workspace(call, workspace_id)


def get_balance(call: Call, workspace_id: str) -> Reply:
    row = workspace_row(call, workspace_id)
    total = row["available"] + row["locked"]
    return Reply(
        {
            "currency_code": row["currency"],
            "total_balance": money.in_cents(total),
            "balance_breakdown": _breakdown(total, call.session.readings),
            "available_balance": money.in_cents(row["available"]),
            "available_balance_breakdown": _breakdown(row["available"], call.session.readings),
        }
    )


def _breakdown(amount: int, readings: Readings) -> dict[str, object]:
    """Of the whole: a fee of a third of the rewards, and the VAT on it."""
    fees = amount * 1000 // (4000 + readings.vat_permille)
    vat = fees * readings.vat_permille // 1000
    parts = {"rewards": amount - fees - vat, "fees": fees, "vat": vat}
    return {name: money.in_cents(part) for name, part in parts.items()}


def list_projects(call: Call, workspace_id: str) -> Reply:
    workspace_row(call, workspace_id)
    query = "SELECT * FROM projects WHERE workspace_id = ? ORDER BY seq"
    return by_offset(call, query, (workspace_id,), lambda row: _project(call, row))


def post_project(call: Call, workspace_id: str) -> Reply:
    workspace_row(call, workspace_id)
    fields = Fields(call.body)
    title = fields.text("title", required=True)
    description = fields.text("description") or ""
    fields.check()
    project_id = create_project(
        call.session, workspace_id, title=title or "", description=description
    )
    return Reply(_project(call, project_row(call, project_id)), 201)


def get_project(call: Call, project_id: str) -> Reply:
    return Reply(_project(call, project_row(call, project_id)))


def patch_project(call: Call, project_id: str) -> Reply:
    _name_anew(call, "projects", project_row(call, project_id))
    return get_project(call, project_id)


def list_recommendations(call: Call) -> Reply:
    return Reply(RECOMMENDED)


def _name_anew(call: Call, table: str, row: Row) -> None:
    """Title and description stay as they were where the call does not say."""
    fields = Fields({"title": row["title"], "description": row["description"], **call.body})
    title, description = fields.text("title", required=True), fields.text("description")
    fields.check()
    call.session.db.execute(
        f"UPDATE {table} SET title = ?, description = ? WHERE seq = ?",  # noqa: S608 - names of ours
        (title, description or "", row["seq"]),
    )


def workspace_row(call: Call, workspace_id: object) -> Row:
    row = call.session.row("SELECT * FROM workspaces WHERE workspace_id = ?", workspace_id)
    if row is None:
        raise unknown("workspace", workspace_id)
    return row


def project_row(call: Call, project_id: object) -> Row:
    row = call.session.row("SELECT * FROM projects WHERE project_id = ?", project_id)
    if row is None:
        raise unknown("project", project_id)
    return row


def _workspace(call: Call, row: Row) -> dict[str, object]:
    owner = researcher_id(call.session)
    projects = call.session.rows(
        "SELECT project_id, title FROM projects WHERE workspace_id = ? ORDER BY seq",
        row["workspace_id"],
    )
    return {
        "id": row["workspace_id"],
        "title": row["title"],
        "description": row["description"],
        "owner": owner,
        "users": [_user(owner, "WORKSPACE_ADMIN")],
        "projects": [{"id": it["project_id"], "title": it["title"]} for it in projects],
        "naivety_distribution_rate": None,
    }


def _project(call: Call, row: Row) -> dict[str, object]:
    owner = researcher_id(call.session)
    return {
        "id": row["project_id"],
        "title": row["title"],
        "description": row["description"],
        "owner": owner,
        "type": "PRIVATE",
        "users": [_user(owner, "PROJECT_EDITOR")],
        "workspace": row["workspace_id"],
        "naivety_distribution_rate": None,
    }


def _user(user_id: str, role: str) -> dict[str, object]:
    return {"id": user_id, "name": "Researcher", "email": EMAIL, "roles": [role]}


OPERATIONS = (
    Operation("GET", "/users/me/", me),
    Operation("GET", "/workspaces/", list_workspaces),
    Operation("POST", "/workspaces/", post_workspace),
    Operation("GET", "/workspaces/<workspace_id>/", get_workspace),
    Operation("PATCH", "/workspaces/<workspace_id>/", patch_workspace),
    Operation("GET", "/workspaces/<workspace_id>/balance/", get_balance),
    Operation("GET", "/workspaces/<workspace_id>/projects/", list_projects),
    Operation("POST", "/workspaces/<workspace_id>/projects/", post_project),
    Operation("GET", "/projects/<project_id>/", get_project),
    Operation("PATCH", "/projects/<project_id>/", patch_project),
    Operation("GET", "/reward-recommendations/", list_recommendations),
)
