"""MTurk's operations that end a HIT, or give it more time."""

from annotation.crowd.emulator.dispatch import DAY, Answer, Call, Operation
from annotation.crowd.emulator.errors import invalid
from annotation.crowd.emulator.state import lifecycle
from annotation.crowd.emulator.state.hits import hit_record, invalid_state, kept_hit, mark_extended

MAX_LIFE_SECONDS = 365 * DAY  # assumed here: the longest life that a new HIT can be given


def update_expiration(call: Call) -> Answer:
    """A time past expires the HIT at once; one to come opens the assignments of an expired HIT."""
    at, now = call.parameters["ExpireAt"], call.session.now
    if not 0 <= at <= now + MAX_LIFE_SECONDS:
        raise invalid("ExpireAt must be a time at most 365 days from now.")
    hit = kept_hit(call.session, call.parameters["HITId"])
    if at <= now and not hit["expired"]:
        lifecycle.expire(call.session, hit, at=now)
    elif at > now and hit["expired"]:
        lifecycle.reopen(call.session, hit)
    call.session.db.execute("UPDATE hits SET expires_at = ? WHERE hit_id = ?", (at, hit["hit_id"]))
    if at > max(now, hit["expires_at"]):
        mark_extended(call.session, hit)
    return {}


def delete_hit(call: Call) -> Answer:
    """Only where nobody can take, submit or be paid for anything; so no money is on hold."""
    hit = hit_record(call.session, call.parameters["HITId"])
    undecided = call.session.db.execute(
        "SELECT 1 FROM assignments WHERE hit_id = ? AND status = 'Submitted'", (hit["hit_id"],)
    ).fetchone()
    if hit["status"] not in ("Reviewable", "Reviewing") or undecided is not None:
        # MTurk says the same of both, though a Reviewable HIT then seems to contradict itself.
        raise invalid_state(hit, "Reviewing, Reviewable")
    call.session.db.execute(
        "UPDATE hits SET deleted_at = ? WHERE hit_id = ?", (call.session.now, hit["hit_id"])
    )
    return {}


OPERATIONS = {
    "UpdateExpirationForHIT": Operation(update_expiration, writes=True),
    "DeleteHIT": Operation(delete_hit, writes=True),
}
