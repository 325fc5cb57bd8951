"""What a member has earned at the site's Turk, by day and requester."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from annotation.crowd.turk.models import RequesterAccount
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.wire.session import Session

MOST_REMARKS = 50  # that are shown, the newest
# What requesters wrote to the worker, by its heading.
REMARKS = {
    "Rejected work": "SELECT t.title, a.submitted_at AS at, COALESCE(a.feedback, '') AS text,"
    " 0 AS cents"
    " FROM assignments a JOIN hits USING (hit_id) JOIN hit_types t USING (hit_type_id)"
    " WHERE a.worker_id = :worker AND a.status = 'Rejected'",
    "Feedback and bonuses": "SELECT t.title, a.approved_at AS at, a.feedback AS text, 0 AS cents"
    " FROM assignments a JOIN hits USING (hit_id) JOIN hit_types t USING (hit_type_id)"
    " WHERE a.worker_id = :worker AND a.status = 'Approved' AND a.feedback <> ''"
    " UNION ALL SELECT t.title, b.granted_at, b.reason, b.cents"
    " FROM bonuses b JOIN hits USING (hit_id) JOIN hit_types t USING (hit_type_id)"
    " WHERE b.worker_id = :worker",
}


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
class Remark:
    requester: str
    title: str
    at: datetime
    text: str
    cents: int  # of a bonus


@dataclass(frozen=True)
class Earnings:
    days: list[Day]  # the newest first
    remarks: Mapping[str, list[Remark]]  # by their heading, the newest first

    def total(self, name: str) -> int:
        return sum(getattr(day, name) for day in self.days)


def earnings_of(
    worker_id: str, environment: Environment, *, headings: Collection[str] = tuple(REMARKS)
) -> Earnings:
    """Of closed accounts too."""
    days: list[Day] = []
    remarks: dict[str, list[Remark]] = {heading: [] for heading in headings}
    for account in RequesterAccount.objects.order_by("name"):
        with store_of(account, environment).reading() as session:
            days += _days(session, account.name, worker_id)
            for heading, said in remarks.items():
                said += _remarks(session, account.name, worker_id, REMARKS[heading])
    days.sort(key=lambda one: one.day, reverse=True)
    for said in remarks.values():
        said.sort(key=lambda one: one.at, reverse=True)
        del said[MOST_REMARKS:]
    return Earnings(days, remarks)


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


def _remarks(session: Session, requester: str, worker_id: str, query: str) -> list[Remark]:
    rows = session.db.execute(
        f"{query} ORDER BY at DESC LIMIT :most", {"worker": worker_id, "most": MOST_REMARKS}
    )
    return [
        Remark(
            requester,
            row["title"],
            datetime.fromtimestamp(row["at"], UTC),
            row["text"],
            row["cents"],
        )
        for row in rows
    ]
