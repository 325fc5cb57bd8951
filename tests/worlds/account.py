"""A requester's account at MTurk as tests use it, whichever way its calls are carried."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from annotation.crowd.mturk.adapter import MTurkCrowd

BALANCE_CENTS = 1_000_000


class Clock:
    """One time for the crowd and for the pipeline; tests move it on."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def seconds(self) -> float:
        return time.time() + self._ahead.total_seconds()

    def move_on(self, **by: float) -> None:
        self._ahead += timedelta(**by)


class Person(ABC):
    """A worker whom the policy's defaults admit."""

    def __init__(self, name: str) -> None:
        self.id = f"A{name.upper()}"

    @abstractmethod
    def accept(self, hit_id: str) -> str | None:
        """The assignment; None where the crowd does not let this worker have one."""

    @abstractmethod
    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None: ...

    @abstractmethod
    def give_back(self, assignment_id: str) -> None: ...

    def work(self, hit_id: str, answers: Mapping[str, str]) -> str:
        assignment_id = self.accept(hit_id)
        assert assignment_id, f"{self.id} cannot accept {hit_id}"
        self.submit(assignment_id, answers)
        return assignment_id


class Account(ABC):
    """With its workers, and its own records."""

    url: str

    def __init__(self) -> None:
        self.clock = Clock()
        self._people: dict[str, Person] = {}

    @property
    @abstractmethod
    def crowd(self) -> MTurkCrowd: ...

    @property
    @abstractmethod
    def is_running(self) -> bool: ...

    @abstractmethod
    def start(self) -> None:
        """Again, with the state of before."""

    @abstractmethod
    def stop(self) -> None:
        """Calls find nobody there."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the crowd itself has recorded."""

    @abstractmethod
    def alter(self, statement: str, *values: object) -> None:
        """Its record, as only MTurk itself can."""

    def person(self, name: str) -> Person:
        if name not in self._people:
            self._people[name] = self._hire(name)
        return self._people[name]

    @abstractmethod
    def _hire(self, name: str) -> Person: ...

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT COUNT(*) FROM {table}")[0][0])

    @property
    def spent_cents(self) -> int:
        return int(self.rows("SELECT spent FROM account")[0][0])

    @property
    def on_hold_cents(self) -> int:
        return int(self.rows("SELECT on_hold FROM account")[0][0])
