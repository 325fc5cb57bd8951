"""Studies: drafts, what of them can change, and what they cost."""

import json
from typing import Any

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import ApiError, invalid, unknown
from annotation.crowd.prolific.emulator.fields import Fields
from annotation.crowd.prolific.emulator.operations.study_fields import checked_study, is_low_pay
from annotation.crowd.prolific.emulator.operations.workspaces import project_row, workspace_row
from annotation.crowd.prolific.emulator.pagination import by_page
from annotation.crowd.prolific.emulator.session import iso, load, new_id
from annotation.crowd.prolific.emulator.state import money, studies
from annotation.crowd.prolific.emulator.state.eligibility import check_filter_targets
from annotation.crowd.wire.session import Row

# Of a study that has been published; a wider set than any one page of the documentation has.
CHANGEABLE = ("internal_name", "total_available_places", "submissions_config", "completion_codes")
COLUMNS = ("total_available_places", "reward", "maximum_allowed_time")
FLAGS = {"active": "ACTIVE", "completed": "COMPLETED"}


def list_studies(call: Call, project_id: str | None = None) -> Reply:
    where = ["1"]
    values: list[object] = []
    if project_id is not None:
        where.append("s.project_id = ?")
        values.append(project_row(call, project_id)["project_id"])
    if state := call.query.get("state"):
        wanted = [it.strip("() ").upper().replace("_", " ") for it in state.split("|")]
        where.append(f"s.status IN ({', '.join('?' for _ in wanted)})")
        values += wanted
    for flag, status in FLAGS.items():
        if flag in call.query:
            where.append("s.status = ?" if call.query[flag] == "1" else "s.status <> ?")
            values.append(status)
    if "published" in call.query:
        where.append("(s.published_at IS NOT NULL) = ?")
        values.append(call.query["published"] == "1")
    query = (
        "SELECT s.*, p.workspace_id, w.currency FROM studies s JOIN projects p USING (project_id)"  # noqa: S608
        f" JOIN workspaces w USING (workspace_id) WHERE {' AND '.join(where)} ORDER BY s.seq"
    )
    return by_page(call, query, tuple(values), lambda row: _short(call, row))


def post_study(call: Call) -> Reply:
    fields = checked_study(call.body, call.session.readings)
    check_filter_targets(call.session, fields["filters"])
    project = _project_of(call)
    currency = workspace_row(call, project["workspace_id"])["currency"]
    if call.session.readings.low_pay == "create" and is_low_pay(fields, currency):
        raise invalid("reward", "This pays less than the minimum per hour.")
    study_id = new_id()
    call.session.insert(
        "studies",
        study_id=study_id,
        project_id=project["project_id"],
        status="UNPUBLISHED",
        created_at=call.session.now,
        publish_at=publish_at(call),
        **_columns(fields),
    )
    return Reply(study_answer(call, study_id), 201)


def get_study(call: Call, study_id: str) -> Reply:
    return Reply(study_answer(call, study_id))


def patch_study(call: Call, study_id: str) -> Reply:
    study = studies.study_row(call.session, study_id)
    is_draft = study["status"] in ("UNPUBLISHED", "SCHEDULED")
    if not is_draft:
        _check_change(call, study)
    fields = checked_study({**_fields(study), **call.body}, call.session.readings)
    check_filter_targets(call.session, fields["filters"])
    if not is_draft and fields["total_available_places"] < study["total_places"]:
        raise invalid("total_available_places", "The places of a published study only grow.")
    grows = fields["total_available_places"] > study["total_places"]
    columns = _columns(fields)
    marks = ", ".join(f"{name} = ?" for name in columns)
    call.session.db.execute(
        f"UPDATE studies SET {marks} WHERE study_id = ?",  # noqa: S608 - names of ours
        (*columns.values(), study_id),
    )
    if is_draft and "publish_at" in call.body:
        call.session.db.execute(
            "UPDATE studies SET publish_at = ? WHERE study_id = ?", (publish_at(call), study_id)
        )
    if grows and study["status"] in ("COMPLETED", "AWAITING REVIEW"):
        reopen(call, study_id)
    studies.refresh(call.session, study_id)
    return Reply(study_answer(call, study_id))


def reopen(call: Call, study_id: str) -> None:
    call.session.db.execute("UPDATE studies SET stopped = 0 WHERE study_id = ?", (study_id,))
    studies.set_status(call.session, studies.study_row(call.session, study_id), "ACTIVE")


def _check_change(call: Call, study: Row) -> None:
    allowed = list(CHANGEABLE)
    readings = call.session.readings
    approved = studies.counts(call.session, study["study_id"])["APPROVED"]
    if readings.reward_can_change and study["status"] == "PAUSED" and not approved:
        allowed.append("reward")
    before = _fields(study)
    for name, value in call.body.items():
        if name in before and value != before[name] and name not in allowed:
            raise invalid(name, "This field cannot change after the study is published.")
    if readings.stop_is_final and study["status"] == "COMPLETED":
        raise ApiError(readings.illegal_transition, "A completed study is final.")
    if "completion_codes" in call.body:
        _check_slots(before["completion_codes"], call.body["completion_codes"])


def _check_slots(before: list[Any], after: Any) -> None:
    """Of a published study's codes, only the slots of a screen-out grow."""

    def without_slots(codes: Any) -> str:
        plain = json.loads(json.dumps(codes))
        for action in _actions(plain):
            action.pop("slots", None)
        return json.dumps(plain, sort_keys=True)

    def slots(codes: Any) -> list[Any]:
        return [action["slots"] for action in _actions(codes) if "slots" in action]

    if without_slots(before) != without_slots(after):
        raise invalid("completion_codes", "After publication only slots can change.")
    if any(new < old for old, new in zip(slots(before), slots(after), strict=True)):
        raise invalid("completion_codes", "Slots can only grow.")


def _actions(codes: Any) -> list[dict[str, Any]]:
    if not isinstance(codes, list):
        return []
    codes = [code for code in codes if isinstance(code, dict)]
    actions = [it for code in codes for it in code.get("actions") or []]
    return [it for it in actions if isinstance(it, dict)]


def delete_study(call: Call, study_id: str) -> Reply:
    study = studies.study_row(call.session, study_id)
    if study["status"] != "UNPUBLISHED":
        raise ApiError(call.session.readings.illegal_transition, "Only drafts can be deleted.")
    call.session.db.execute("DELETE FROM studies WHERE study_id = ?", (study_id,))
    return Reply()


def delete_study_of_project(call: Call, project_id: str, study_id: str) -> Reply:
    if studies.study_row(call.session, study_id)["project_id"] != project_id:
        raise unknown("study", study_id)
    delete_study(call, study_id)
    return Reply(status=204)


def unsupported(call: Call, **_parts: str) -> Reply:
    raise ApiError(501, "The emulator does not have this operation of Prolific's.")


def get_cost(call: Call, study_id: str) -> Reply:
    study = studies.study_row(call.session, study_id)
    bonuses = money.CENT * call.session.count(
        "SELECT COALESCE(SUM(p.cents), 0) FROM payments p JOIN submissions s"
        " USING (submission_id) WHERE s.study_id = ? AND p.kind = 'bonus'",
        study_id,
    )
    rewards = study["rewards_paid"]
    if call.query.get("is_projected", "").lower() in ("1", "true"):
        rewards += study["rewards_locked"]

    def part(amount: int) -> dict[str, object]:
        tax = money.tax(amount, call.session.readings)
        parts = {"rewards": amount, "fees": money.fee(amount), "tax": tax}
        return {
            name: {"amount": money.in_cents(it), "currency": study["currency"]}
            for name, it in parts.items()
        }

    return Reply({"rewards": part(rewards), "bonuses": part(bonuses), "_links": {}})


def calculate_cost(call: Call) -> Reply:
    fields = Fields(call.body)
    reward = fields.number("reward", 1, required=True) or 0
    places = fields.number("total_available_places", 1, required=True) or 0
    fields.check()
    cost = money.charge(money.CENT * reward * places, call.session.readings)
    return Reply({"total_cost": money.in_cents(cost)})


def publish_at(call: Call) -> float | None:
    fields = Fields(call.body)
    at = fields.time("publish_at")
    fields.check()
    return at


def study_answer(call: Call, study_id: str) -> dict[str, object]:
    study = studies.study_row(call.session, study_id)
    return {**_fields(study), **_short(call, study), "project": study["project_id"]}


def _short(call: Call, study: Row) -> dict[str, object]:
    """As lists have it."""
    fields = load(study["fields"])
    counted = studies.counts(call.session, study["study_id"])
    # As documented: those that began less those that timed out or were returned.
    taken = counted.total() - counted["TIMED-OUT"] - counted["RETURNED"]
    rewards = money.CENT * study["reward_cents"] * study["total_places"]
    cost = money.charge(rewards, call.session.readings)
    return {
        "id": study["study_id"],
        "name": fields["name"],
        "internal_name": fields["internal_name"],
        "status": study["status"],
        "study_type": "SINGLE",
        "estimated_completion_time": fields["estimated_completion_time"],
        "total_available_places": study["total_places"],
        "places_taken": taken,
        "number_of_submissions": counted.total(),
        "reward": study["reward_cents"],
        "total_cost": money.in_cents(cost),
        "publish_at": iso(study["publish_at"]),
        "published_at": iso(study["published_at"]),
        "date_created": iso(study["created_at"]),
        "is_ready_to_publish": study["status"] == "UNPUBLISHED",
    }


def _fields(study: Row) -> dict[str, Any]:
    return {
        **load(study["fields"]),
        "total_available_places": study["total_places"],
        "reward": study["reward_cents"],
        "maximum_allowed_time": study["max_minutes"],
    }


def _columns(fields: dict[str, Any]) -> dict[str, object]:
    others = {name: value for name, value in fields.items() if name not in COLUMNS}
    return {
        "total_places": fields["total_available_places"],
        "reward_cents": fields["reward"],
        "max_minutes": fields["maximum_allowed_time"],
        "fields": json.dumps(others),
    }


def _project_of(call: Call) -> Row:
    """The first project of the account, unless another one is named."""
    if (project_id := call.body.get("project")) is not None:
        if not isinstance(project_id, str):
            raise invalid("project", "Not a valid id.")
        return project_row(call, project_id)
    return call.session.rows("SELECT * FROM projects ORDER BY seq LIMIT 1")[0]


OPERATIONS = (
    Operation("GET", "/studies/", list_studies, bare=True),
    Operation("GET", "/projects/<project_id>/studies/", list_studies, bare=True),
    Operation("POST", "/studies/", post_study, bare=True),
    Operation("GET", "/studies/<study_id>/", get_study),
    Operation("PATCH", "/studies/<study_id>/", patch_study),
    Operation("DELETE", "/studies/<study_id>/", delete_study),
    Operation("DELETE", "/projects/<project_id>/studies/<study_id>/", delete_study_of_project),
    Operation("GET", "/studies/<study_id>/cost/", get_cost, bare=True),
    Operation("POST", "/study-cost-calculator/", calculate_cost, bare=True),
    Operation("POST", "/studies/<study_id>/clone/", unsupported),
    Operation("POST", "/studies/<study_id>/test-study", unsupported),
)
