"""What a member has earned at the site's Turk, by day and requester."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime

from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.wire.session import Session

MOST_REJECTIONS = 50  # that are shown, the newest


@dataclass
class Day:
    day: date
    requester: str
    pending: int = 0  # assignments
    approved: int = 0
    rejected: int = 0
    pending_cents: int = 0
    reward_cents: int = 0
    bonus_cents: int = 0

    @property
    def submitted(self) -> int:
        return self.pending + self.approved + self.rejected


@dataclass(frozen=True)
class Rejection:
    requester: str
    title: str
    submitted_at: datetime
    feedback: str


@dataclass(frozen=True)
class Earnings:
    days: list[Day]  # the newest first
    rejections: list[Rejection]

    def total(self, name: str) -> int:
        return sum(getattr(day, name) for day in self.days)


def earnings_of(worker_id: str, environment: Environment) -> Earnings:
    """Of closed accounts too."""
    days: list[Day] = []
    rejections: list[Rejection] = []
    for account in RequesterAccount.objects.order_by("name"):
        with store_of(account, environment).reading() as session:
            days += _days(session, account.name, worker_id)
            rejections += _rejections(session, account.name, worker_id)
    days.sort(key=lambda one: one.day, reverse=True)
    rejections.sort(key=lambda one: one.submitted_at, reverse=True)
    return Earnings(days, rejections[:MOST_REJECTIONS])


def _days(session: Session, requester: str, worker_id: str) -> list[Day]:
    """Of its submission a reward, of its payment a bonus."""
    days: dict[str, Day] = defaultdict(lambda: Day(date.min, requester))
    rows = session.db.execute(
        "SELECT date(a.submitted_at, 'unixepoch') AS day, a.status, COUNT(*) AS number,"
        " SUM(h.reward_cents) AS cents FROM assignments a JOIN hits h USING (hit_id)"
        " WHERE a.worker_id = ? AND a.status IN ('Submitted', 'Approved', 'Rejected')"
        " GROUP BY day, a.status",
        (worker_id,),
    )
    for row in rows:
        _add(days[row["day"]], row["status"], row["number"], row["cents"])
    bonuses = session.db.execute(
        "SELECT date(granted_at, 'unixepoch') AS day, SUM(cents) AS cents FROM bonuses"
        " WHERE worker_id = ? GROUP BY day",
        (worker_id,),
    )
    for row in bonuses:
        days[row["day"]].bonus_cents = row["cents"]
    for day, one in days.items():
        one.day = date.fromisoformat(day)
    return list(days.values())


def _add(day: Day, status: str, number: int, cents: int) -> None:
    if status == "Submitted":
        day.pending, day.pending_cents = number, cents
    elif status == "Approved":
        day.approved, day.reward_cents = number, cents
    else:
        day.rejected = number


def _rejections(session: Session, requester: str, worker_id: str) -> list[Rejection]:
    rows = session.db.execute(
        "SELECT t.title, a.submitted_at, a.feedback FROM assignments a JOIN hits USING (hit_id)"
        " JOIN hit_types t USING (hit_type_id) WHERE a.worker_id = ? AND a.status = 'Rejected'"
        " ORDER BY a.submitted_at DESC LIMIT ?",
        (worker_id, MOST_REJECTIONS),
    )
    return [
        Rejection(
            requester,
            row["title"],
            datetime.fromtimestamp(row["submitted_at"], UTC),
            row["feedback"] or "",
        )
        for row in rows
    ]
