"""MTurk's operations on HIT types and HITs."""

import hashlib
import json
from typing import Any

from annotation.crowd.emulator.dispatch import (
    DAY,
    TOKEN_LIFE,
    Answer,
    Call,
    Operation,
    check_length,
    check_range,
    require_row,
    token_used,
)
from annotation.crowd.emulator.errors import RequestError, invalid, unsupported
from annotation.crowd.emulator.ids import new_id
from annotation.crowd.emulator.state import money, qualifications
from annotation.crowd.emulator.state.hits import hit_answer, hit_record, kept_hit
from annotation.crowd.emulator.state.questions import parse_question
from annotation.crowd.wire.session import Row

MAX_REWARD_CENTS = 1_000_000
MAX_ASSIGNMENTS = 1_000_000_000
SECONDS = (30, 365 * DAY)
AUTO_APPROVAL_SECONDS = (0, 30 * DAY)
LENGTHS = {"Title": 128, "Description": 2000, "Keywords": 1000, "RequesterAnnotation": 255}


def create_hit_type(call: Call) -> Answer:
    """The same parameters give the same type."""
    for name in ("Title", "Description", "Keywords"):
        check_length(call, name, LENGTHS[name])
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
            "INSERT INTO hit_types VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    return [
        given["Title"],
        given["Description"],
        given.get("Keywords", ""),
        reward,
        given["AssignmentDurationInSeconds"],
        given.get("AutoApprovalDelayInSeconds", AUTO_APPROVAL_SECONDS[1]),
        json.dumps([qualifications.normalise(each) for each in requirements], sort_keys=True),
    ]


def create_hit_with_hit_type(call: Call) -> Answer:
    for name in ("HITLayoutId", "HITLayoutParameters", "AssignmentReviewPolicy", "HITReviewPolicy"):
        if name in call.parameters:
            raise unsupported(name)
    check_range(call, "LifetimeInSeconds", *SECONDS)
    check_range(call, "MaxAssignments", 1, MAX_ASSIGNMENTS)
    check_length(call, "RequesterAnnotation", LENGTHS["RequesterAnnotation"])
    _refuse_replay(call)
    hit_id = _insert_hit(call)
    hit = hit_record(call.session, hit_id)
    money.hold(call.session, hit, hit["max_assignments"])
    return {"HIT": hit_answer(hit)}


def _refuse_replay(call: Call) -> None:
    row = call.session.db.execute(
        "SELECT hit_id FROM hits WHERE unique_request_token = ? AND created_at > ?",
        (call.parameters.get("UniqueRequestToken"), call.session.now - TOKEN_LIFE),
    ).fetchone()
    if row is not None:
        message = f"The HIT {row['hit_id']} already exists: its UniqueRequestToken was used before."
        raise RequestError("HitAlreadyExists", message)


def _insert_hit(call: Call) -> str:
    given, now = call.parameters, call.session.now
    if "Question" not in given:
        raise invalid("Question is required.")
    question = parse_question(given["Question"])
    hit_type = _hit_type(call)
    max_assignments = given.get("MaxAssignments", 1)
    masters = qualifications.requires_masters(json.loads(hit_type["requirements"]))
    fee = money.fee_cents(hit_type["reward_cents"], masters=masters, assignments=max_assignments)
    hit_id = new_id()
    call.session.db.execute(
        "INSERT INTO hits (hit_id, hit_type_id, requester_annotation, unique_request_token,"
        " max_assignments, open_assignments, created_at, expires_at, reward_cents, fee_cents,"
        " external_url, frame_height, question) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            hit_id,
            hit_type["hit_type_id"],
            given.get("RequesterAnnotation"),
            given.get("UniqueRequestToken"),
            max_assignments,
            max_assignments,
            now,
            now + given["LifetimeInSeconds"],
            hit_type["reward_cents"],
            fee,
            question.url,
            question.frame_height,
            given["Question"],
        ),
    )
    return hit_id


def _hit_type(call: Call) -> Row:
    type_id = call.parameters["HITTypeId"]
    row = call.session.db.execute(
        "SELECT hit_type_id, reward_cents, requirements FROM hit_types WHERE hit_type_id = ?",
        (type_id,),
    ).fetchone()
    return require_row(row, "HITTypeDoesNotExist", f"HITType {type_id} does not exist.")


def create_additional_assignments(call: Call) -> Answer:
    check_range(call, "NumberOfAdditionalAssignments", 1, MAX_ASSIGNMENTS)
    _refuse_extension_replay(call)
    hit = kept_hit(call.session, call.parameters["HITId"])
    more = call.parameters["NumberOfAdditionalAssignments"]
    many, before = money.MANY_ASSIGNMENTS, hit["max_assignments"]
    if before < many <= before + more:
        raise RequestError(
            "InvalidMaximumAssignmentsIncrease",
            f"A HIT created with fewer than {many} assignments cannot be extended to {many} or"
            f" more: {hit['hit_id']} has {before}.",
        )
    if before + more > MAX_ASSIGNMENTS:
        raise invalid(f"A HIT has at most {MAX_ASSIGNMENTS} assignments.")
    # Nobody can take a place of an expired HIT, so it holds no money.
    if not hit["expired"]:
        money.hold(call.session, hit, more)
    _add_assignments(call, hit["hit_id"], more)
    return {}


def _refuse_extension_replay(call: Call) -> None:
    token = call.parameters.get("UniqueRequestToken")
    row = call.session.db.execute(
        "SELECT hit_id, request_id FROM extensions"
        " WHERE unique_request_token = ? AND created_at > ?",
        (token, call.session.now - TOKEN_LIFE),
    ).fetchone()
    if row is not None:
        done = f"it extended HIT {row['hit_id']} in request {row['request_id']}"
        raise token_used(token, done)


def _add_assignments(call: Call, hit_id: str, more: int) -> None:
    call.session.db.execute(
        "UPDATE hits SET max_assignments = max_assignments + ?,"
        " open_assignments = open_assignments + ? WHERE hit_id = ?",
        (more, more, hit_id),
    )
    call.session.db.execute(
        "INSERT INTO extensions (hit_id, assignments, unique_request_token, request_id, created_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (
            hit_id,
            more,
            call.parameters.get("UniqueRequestToken"),
            call.request_id,
            call.session.now,
        ),
    )


def get_hit(call: Call) -> Answer:
    return {"HIT": hit_answer(hit_record(call.session, call.parameters["HITId"]))}


def list_hits(call: Call) -> Answer:
    """The newest first."""

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM hit_records"
            " WHERE deleted_at IS NULL AND seq < COALESCE(?, 9223372036854775807)"
            " ORDER BY seq DESC LIMIT ?",
            (after, count),
        ).fetchall()

    page = call.page("ListHITs", fetch)
    return page.answer("HITs", [hit_answer(row) for row in page.rows])


OPERATIONS = {
    "CreateHITType": Operation(create_hit_type, writes=True),
    "CreateHITWithHITType": Operation(create_hit_with_hit_type, writes=True),
    "CreateAdditionalAssignmentsForHIT": Operation(create_additional_assignments, writes=True),
    "GetHIT": Operation(get_hit, writes=False),
    "ListHITs": Operation(list_hits, writes=False),
}
