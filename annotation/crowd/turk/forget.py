"""What a worker wrote at the site's Turk is deleted on request; what they were paid stays."""

from annotation.crowd.emulator.question.answers import write
from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from core.errors import UserError
from core.text.words import plural

OPEN = (
    "SELECT COUNT(*) FROM assignments WHERE worker_id = ? AND status IN ('Accepted', 'Submitted')"
)
DELETIONS = (
    "UPDATE assignments SET answer = :empty, feedback = NULL"
    " WHERE worker_id = :worker AND answer IS NOT NULL AND status <> 'Submitted'",
    "UPDATE qualification_requests SET answer = NULL"
    " WHERE worker_id = :worker AND answer IS NOT NULL AND status <> 'Pending'",
    "DELETE FROM notifications WHERE worker_id = :worker",
)


def forget_worker(worker_id: str) -> int:
    """In all accounts; how many texts. UserError, and nothing is deleted, while work is open."""
    stores = [
        store_of(account, environment)
        for account in RequesterAccount.objects.order_by("name")
        for environment in Environment
    ]
    left = 0
    for store in stores:
        with store.reading() as session:
            left += session.db.execute(OPEN, (worker_id,)).fetchone()[0]
    if left:
        raise UserError(
            f"{worker_id} has {plural(left, 'assignment')} at hand or not reviewed: what is "
            "written there can be deleted once that is decided."
        )
    deleted, about = 0, {"worker": worker_id, "empty": write([])}
    for store in stores:
        with store.writing() as session:
            deleted += sum(session.db.execute(one, about).rowcount for one in DELETIONS)
    return deleted
