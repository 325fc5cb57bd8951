"""MTurk's operations on HITs: create, extend, list."""

from annotation.crowd.emulator.dispatch import (
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
from annotation.crowd.emulator.operations.hit_types import (
    SECONDS,
    create_hit_type,
    fee_cents,
    hit_type_record,
)
from annotation.crowd.emulator.state import money, qualifications
from annotation.crowd.emulator.state.hits import hit_answer, hit_record, kept_hit, mark_extended
from annotation.crowd.emulator.state.questions import ExternalQuestion, parse_question
from annotation.crowd.wire.session import Row

MAX_ASSIGNMENTS = 1_000_000_000
ANNOTATION_LENGTH = 255
UNSUPPORTED = "HITLayoutId", "HITLayoutParameters", "AssignmentReviewPolicy", "HITReviewPolicy"


def create_hit(call: Call) -> Answer:
    """A HIT and its type in one call."""
    type_id = create_hit_type(call)["HITTypeId"]
    return {"HIT": _create(call, str(type_id))}


def create_hit_with_hit_type(call: Call) -> Answer:
    return {"HIT": _create(call, call.parameters["HITTypeId"])}


def _create(call: Call, type_id: str) -> Answer:
    for name in UNSUPPORTED:
        if name in call.parameters:
            raise unsupported(name)
    check_range(call, "LifetimeInSeconds", *SECONDS)
    check_range(call, "MaxAssignments", 1, MAX_ASSIGNMENTS)
    check_length(call, "RequesterAnnotation", ANNOTATION_LENGTH)
    _refuse_replay(call)
    hit_id = _insert_hit(call, type_id)
    hit = hit_record(call.session, hit_id)
    money.hold(call.session, hit, hit["max_assignments"])
    return hit_answer(hit)


def _refuse_replay(call: Call) -> None:
    row = call.session.db.execute(
        "SELECT hit_id FROM hits WHERE unique_request_token = ? AND created_at > ?",
        (call.parameters.get("UniqueRequestToken"), call.session.now - TOKEN_LIFE),
    ).fetchone()
    if row is not None:
        message = f"The HIT {row['hit_id']} already exists: its UniqueRequestToken was used before."
        raise RequestError("HitAlreadyExists", message)


def _insert_hit(call: Call, type_id: str) -> str:
    given, now = call.parameters, call.session.now
    if "Question" not in given:
        raise invalid("Question is required.")
    question = parse_question(given["Question"])
    hit_type = hit_type_record(call, type_id)
    max_assignments = given.get("MaxAssignments", 1)
    hit_id = new_id()
    call.session.db.execute(
        "INSERT INTO hits (hit_id, hit_type_id, requester_annotation, unique_request_token,"
        " max_assignments, open_assignments, created_at, expires_at, reward_cents, fee_cents,"
        " kind, external_url, frame_height, question)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            fee_cents(call, hit_type, max_assignments),
            question.kind,
            question.url if isinstance(question, ExternalQuestion) else None,
            question.frame_height,
            given["Question"],
        ),
    )
    return hit_id


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
    mark_extended(call.session, hit)
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
    return hit_page(call)


def hit_page(call: Call, condition: str = "1", *values: object) -> Answer:
    """HITs that meet an SQL condition of ours, the newest first."""

    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM hit_records"  # noqa: S608 - ours
            " WHERE deleted_at IS NULL AND seq < COALESCE(?, 9223372036854775807)"
            f" AND {condition} ORDER BY seq DESC LIMIT ?",
            (after, *values, count),
        ).fetchall()

    page = call.page(f"{condition} {values}", fetch)
    return page.answer("HITs", [hit_answer(row) for row in page.rows])


def list_hits_for_qualification_type(call: Call) -> Answer:
    """Of a type that was deleted too, for its HITs live on."""
    type_id = call.parameters["QualificationTypeId"]
    row = call.session.db.execute(
        "SELECT 1 FROM qualification_types WHERE qualification_type_id = ?", (type_id,)
    ).fetchone()
    message = f"QualificationType {type_id} does not exist."
    require_row(row, "QualificationTypeDoesNotExist", message)
    return hit_page(call, f"hit_type_id IN ({qualifications.HIT_TYPES_THAT_REQUIRE})", type_id)


OPERATIONS = {
    "CreateHIT": Operation(create_hit, writes=True),
    "CreateHITWithHITType": Operation(create_hit_with_hit_type, writes=True),
    "CreateAdditionalAssignmentsForHIT": Operation(create_additional_assignments, writes=True),
    "GetHIT": Operation(get_hit, writes=False),
    "ListHITs": Operation(list_hits, writes=False),
    "ListHITsForQualificationType": Operation(list_hits_for_qualification_type, writes=False),
}
