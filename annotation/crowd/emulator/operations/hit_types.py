"""MTurk's operations on HIT types: what the HITs of a group have in common."""

import hashlib
import json
from typing import Any

from annotation.crowd.emulator.dispatch import (
    DAY,
    Answer,
    Call,
    Operation,
    check_filled,
    check_length,
    check_range,
    require_row,
)
from annotation.crowd.emulator.errors import RequestError, invalid
from annotation.crowd.emulator.ids import new_id
from annotation.crowd.emulator.state import money, qualifications
from annotation.crowd.emulator.state.hits import hit_record, kept_hit
from annotation.crowd.wire.session import Row

MAX_REWARD_CENTS = 1_000_000
SECONDS = (30, 365 * DAY)
AUTO_APPROVAL_SECONDS = (0, 30 * DAY)
LENGTHS = {"Title": 128, "Description": 2000, "Keywords": 1000}


def create_hit_type(call: Call) -> Answer:
    """The same parameters give the same type."""
    check_filled(call, "Title", "Description")
    for name, limit in LENGTHS.items():
        check_length(call, name, limit)
    check_range(call, "AssignmentDurationInSeconds", *SECONDS)
    check_range(call, "AutoApprovalDelayInSeconds", *AUTO_APPROVAL_SECONDS)
    values = _type_values(call)
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()
    row = call.session.db.execute(
        "SELECT hit_type_id FROM hit_types WHERE digest = ?", (digest,)
    ).fetchone()
    type_id = new_id() if row is None else row["hit_type_id"]
    if row is None:
        call.session.db.execute(
            "INSERT INTO hit_types VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            (type_id, new_id(), digest, *values, call.session.now),
        )
    return {"HITTypeId": type_id}


def _type_values(call: Call) -> list[Any]:
    """The columns of hit_types from title to requirements."""
    given = call.parameters
    reward = money.cents(given["Reward"])
    if reward > MAX_REWARD_CENTS:
        raise invalid(f"Reward must be at most {money.dollars(MAX_REWARD_CENTS)}.")
    requirements = given.get("QualificationRequirements", [])
    qualifications.check_requirements(call.session, requirements)
    if call.site.refuses_impossible:
        qualifications.check_possible(requirements)
    return [
        given["Title"],
        given["Description"],
        given.get("Keywords", ""),
        reward,
        given["AssignmentDurationInSeconds"],
        given.get("AutoApprovalDelayInSeconds", AUTO_APPROVAL_SECONDS[1]),
        json.dumps([qualifications.normalise(each) for each in requirements], sort_keys=True),
    ]


def hit_type_record(call: Call, type_id: str) -> Row:
    row = call.session.db.execute(
        "SELECT hit_type_id, reward_cents, requirements FROM hit_types"
        " WHERE hit_type_id = ? AND deleted_at IS NULL",
        (type_id,),
    ).fetchone()
    return require_row(row, "HITTypeDoesNotExist", f"HITType {type_id} does not exist.")


def fee_cents(call: Call, hit_type: Row, max_assignments: int) -> int:
    """MTurk's, for one assignment; of one's own people none."""
    if not money.charges_fees(call.session):
        return 0
    masters = qualifications.requires_masters(json.loads(hit_type["requirements"]))
    return money.fee_cents(hit_type["reward_cents"], masters=masters, assignments=max_assignments)


def update_hit_type_of_hit(call: Call) -> Answer:
    """The HIT takes on all properties of the type, its reward too: nobody at work on it loses."""
    hit = kept_hit(call.session, call.parameters["HITId"])
    hit_type = hit_type_record(call, call.parameters["HITTypeId"])
    held = _held_assignments(call, hit, hit_type["reward_cents"])
    money.release(call.session, hit, held)
    call.session.db.execute(
        "UPDATE hits SET hit_type_id = ?, reward_cents = ?, fee_cents = ? WHERE hit_id = ?",
        (
            hit_type["hit_type_id"],
            hit_type["reward_cents"],
            fee_cents(call, hit_type, hit["max_assignments"]),
            hit["hit_id"],
        ),
    )
    money.hold(call.session, hit_record(call.session, hit["hit_id"]), held)
    return {}


def _held_assignments(call: Call, hit: Row, reward: int) -> int:
    """How many have their price on hold. Work that may yet be paid keeps the reward it began at."""
    counts: dict[str, int] = dict(
        call.session.db.execute(
            "SELECT status, COUNT(*) FROM assignments WHERE hit_id = ? GROUP BY status",
            (hit["hit_id"],),
        ).fetchall()
    )
    at_work = counts.get("Accepted", 0) + counts.get("Submitted", 0)
    if reward != hit["reward_cents"] and (at_work or counts.get("Rejected", 0)):
        raise RequestError(
            "InvalidHITState",
            f"The reward of HIT {hit['hit_id']} cannot change while there is work on it that is"
            f" not approved: choose a HITType that pays {money.dollars(hit['reward_cents'])}.",
        )
    still_open: int = 0 if hit["expired"] else hit["open_assignments"]
    return at_work + still_open


OPERATIONS = {
    "CreateHITType": Operation(create_hit_type, writes=True),
    "UpdateHITTypeOfHIT": Operation(update_hit_type_of_hit, writes=True),
}
