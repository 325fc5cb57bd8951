"""The rules of the in-house crowd in plain Python: slow, complete, and without a database."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from annotation.crowd.inhouse.assignments import MOST_LEASES
from tests.annotation.crowd.inhouse.team import LEASE

GONE = ("returned", "lapsed")


@dataclass(eq=False)
class ModelHit:
    hit_id: str
    max_assignments: int
    expires_at: datetime
    closed: bool  # to those who are excluded
    line: int  # as members see it; the lower is the older


@dataclass(eq=False)
class ModelWork:
    assignment_id: str
    hit: ModelHit
    name: str
    accepted_at: datetime
    deadline: datetime
    status: str = "accepted"


@dataclass
class Model:
    hits: list[ModelHit] = field(default_factory=list)
    works: list[ModelWork] = field(default_factory=list)  # in the order in which they were taken
    excluded: set[str] = field(default_factory=set)
    inactive: set[str] = field(default_factory=set)

    def live(self, hit: ModelHit) -> list[ModelWork]:
        return [work for work in self.works if work.hit is hit and work.status not in GONE]

    def open_assignments(self, hit: ModelHit) -> int:
        return hit.max_assignments - len(self.live(hit))

    def had(self, name: str, hit: ModelHit) -> list[int]:
        return [n for n, work in enumerate(self.works) if work.name == name and work.hit is hit]

    def in_hand(self, name: str) -> ModelWork | None:
        mine = (work for work in self.works if (work.name, work.status) == (name, "accepted"))
        return next(mine, None)

    def may_take(self, name: str, hit: ModelHit) -> bool:
        return name not in self.inactive and not (hit.closed and name in self.excluded)

    def free_for(self, name: str, now: datetime) -> list[ModelHit]:
        return [
            hit
            for hit in self.hits
            if self.open_assignments(hit) > 0
            and hit.expires_at > now
            and self.may_take(name, hit)
            and not any(work.name == name for work in self.live(hit))
        ]

    def best_for(self, name: str, now: datetime) -> set[str]:
        """Any of them may be given out; empty: none."""
        return next(filter(None, self._in_turn(name, now)), set())

    def _in_turn(self, name: str, now: datetime) -> Iterator[set[str]]:
        free = self.free_for(name, now)
        new = [hit for hit in free if not self.had(name, hit)]
        for line in sorted({hit.line for hit in free}):
            here = [hit for hit in new if hit.line == line]
            yield {hit.hit_id for hit in here if self.live(hit)}
            yield {hit.hit_id for hit in here}
        for line in sorted({hit.line for hit in free}):
            again = [hit for hit in free if hit.line == line]
            oldest = sorted(again, key=lambda hit: max(self.had(name, hit)))
            yield {hit.hit_id for hit in oldest[:1]}

    def lapse(self, now: datetime, name: str = "") -> None:
        for work in self.works:
            is_due = work.status == "accepted" and work.deadline <= now
            if is_due and name in ("", work.name):
                work.status = "lapsed"

    def can_submit(self, work: ModelWork, now: datetime) -> bool:
        if work.status != "lapsed":
            return work.status != "returned"
        return work.hit in self.free_for(work.name, now)

    def revive(self, work: ModelWork, now: datetime) -> bool:
        """Whether the work is in hand, after all."""
        if work.status == "lapsed" or (work.status == "accepted" and work.deadline <= now):
            self.lapse(now, work.name)
            deadline = self.renewed(work, now)
            is_free = work.hit in self.free_for(work.name, now)
            if deadline > now and is_free and self.in_hand(work.name) is None:
                work.status, work.deadline = "accepted", deadline
        return work.status == "accepted"

    def renewed(self, work: ModelWork, now: datetime) -> datetime:
        most = work.accepted_at + MOST_LEASES * LEASE
        return max(work.deadline, min(now + LEASE, most))
