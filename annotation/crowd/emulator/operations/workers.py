"""MTurk's operations on workers: blocks and messages."""

from annotation.crowd.emulator.dispatch import (
    Answer,
    Call,
    Operation,
    check_filled,
    check_length,
)
from annotation.crowd.emulator.errors import RequestError, invalid
from annotation.crowd.emulator.state import assignments
from annotation.crowd.wire.session import Row

MAX_NOTIFIED = 100
SUBJECT_LENGTH = 200
TEXT_LENGTH = 4096


def create_worker_block(call: Call) -> Answer:
    """Of a worker who is blocked already it renews the reason."""
    check_filled(call, "Reason")
    worker_id = call.parameters["WorkerId"]
    require_worker(call, worker_id)
    call.session.db.execute(
        "INSERT INTO blocks (worker_id, reason, blocked_at) VALUES (?, ?, ?)"
        " ON CONFLICT (worker_id) DO UPDATE SET reason = excluded.reason",
        (worker_id, call.parameters["Reason"], call.session.now),
    )
    return {}


def delete_worker_block(call: Call) -> Answer:
    """Success too where the worker is not blocked."""
    worker_id = call.parameters["WorkerId"]
    if not is_worker(call, worker_id):
        raise invalid("WorkerId is invalid.")
    call.session.db.execute("DELETE FROM blocks WHERE worker_id = ?", (worker_id,))
    return {}


def list_worker_blocks(call: Call) -> Answer:
    def fetch(after: int | None, count: int) -> list[Row]:
        return call.session.db.execute(
            "SELECT *, seq AS position FROM blocks WHERE seq > COALESCE(?, 0) ORDER BY seq LIMIT ?",
            (after, count),
        ).fetchall()

    page = call.page("ListWorkerBlocks", fetch)
    blocks: list[Answer] = [
        {"WorkerId": row["worker_id"], "Reason": row["reason"]} for row in page.rows
    ]
    return page.answer("WorkerBlocks", blocks)


def notify_workers(call: Call) -> Answer:
    """Reaches those whose work was decided; whom it does not reach the answer names."""
    check_filled(call, "Subject", "MessageText")
    check_length(call, "Subject", SUBJECT_LENGTH)
    check_length(call, "MessageText", TEXT_LENGTH)
    workers = list(dict.fromkeys(call.parameters["WorkerIds"]))
    if not 1 <= len(workers) <= MAX_NOTIFIED:
        raise invalid(f"WorkerIds must name 1 to {MAX_NOTIFIED} workers, not {len(workers)}.")
    failures = {worker_id: _failure(call, worker_id) for worker_id in workers}
    for worker_id, failure in failures.items():
        if failure is None:
            write_to(
                call,
                worker_id,
                subject=call.parameters["Subject"],
                text=call.parameters["MessageText"],
            )
    shown = [
        {
            "NotifyWorkersFailureCode": "HardFailure",
            "NotifyWorkersFailureMessage": failure,
            "WorkerId": worker_id,
        }
        for worker_id, failure in failures.items()
        if failure is not None
    ]
    return {"NotifyWorkersFailureStatuses": shown}


def _failure(call: Call, worker_id: str) -> str | None:
    if not is_worker(call, worker_id):
        return f"Worker {worker_id} does not exist."
    decided = call.session.db.execute(
        "SELECT 1 FROM assignments WHERE worker_id = ? AND status IN ('Approved', 'Rejected')",
        (worker_id,),
    ).fetchone()
    if decided is None:
        return f"You have neither approved nor rejected work of worker {worker_id}."
    return None


def write_to(call: Call, worker_id: str, *, subject: str, text: str) -> None:
    call.session.db.execute(
        "INSERT INTO notifications (worker_id, subject, text, sent_at) VALUES (?, ?, ?, ?)",
        (worker_id, subject, text, call.session.now),
    )


def is_worker(call: Call, worker_id: str) -> bool:
    known = call.session.db.execute(
        "SELECT 1 FROM workers WHERE worker_id = ?", (worker_id,)
    ).fetchone()
    if known is None and call.site.is_expected(worker_id):
        assignments.register(call.session, worker_id, None)
        return True
    return known is not None


def require_worker(call: Call, worker_id: str) -> None:
    if not is_worker(call, worker_id):
        raise RequestError("WorkerDoesNotExist", f"Worker {worker_id} does not exist.")


OPERATIONS = {
    "CreateWorkerBlock": Operation(create_worker_block, writes=True),
    "DeleteWorkerBlock": Operation(delete_worker_block, writes=True),
    "ListWorkerBlocks": Operation(list_worker_blocks, writes=False),
    "NotifyWorkers": Operation(notify_workers, writes=True),
}
