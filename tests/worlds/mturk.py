"""The real emulator in a thread, and what its workers do over HTTP."""

import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from annotation.crowd.emulator.http.server import Server
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.crowd.wire.errors import StartError
from annotation.crowd.wire.faults import Faults
from annotation.protocol.screening.control import RejectionReason
from tests.worlds.account import BALANCE_CENTS, Account, Person
from tests.worlds.memory_crowd import IN_MEMORY

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

# Whom the policy's defaults admit.
STATUS = {"masters": "1", "approvalPercent": "100", "approvedHits": "5000"}


def crowd_at(url: str) -> MTurkCrowd:
    """The adapter over the wire, or in memory where the address is one of a world there."""
    world = IN_MEMORY.get(url)
    return world.crowd if world else _crowd_at(url)


@cache
def _crowd_at(url: str) -> MTurkCrowd:
    """Kept from test to test: boto3 takes longer to make a client than most tests take."""
    return MTurkCrowd(url)


class Visitor(Person):
    """At the worker's side of the emulator."""

    def __init__(self, name: str, post: Callable[[str, Mapping[str, str]], httpx.Response]) -> None:
        super().__init__(name)
        self._post = post
        post("/worker/register", STATUS | {"workerId": self.id})

    def accept(self, hit_id: str) -> str | None:
        answer = self._post(f"/worker/{self.id}/hits/{hit_id}/accept", {})
        if not answer.has_redirect_location:
            return None
        return answer.headers["location"].rpartition("/")[2]

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        form = {"assignmentId": assignment_id, **answers}
        answer = self._post("/mturk/externalSubmit", form)
        assert answer.status_code == httpx.codes.OK, answer.text

    def give_back(self, assignment_id: str) -> None:
        answer = self._post(f"/worker/{self.id}/assignments/{assignment_id}/return", {})
        assert answer.has_redirect_location, answer.text


class MTurk(Account):
    """A running emulator; people and calls come over HTTP."""

    def __init__(
        self,
        state: Path,
        *,
        balance_cents: int = BALANCE_CENTS,
        port: int | None = None,
        faults: Faults | None = None,
    ) -> None:
        super().__init__()
        self._state = state
        self._balance_cents = balance_cents
        self._faults = faults
        self._browser = httpx.Client(trust_env=False, verify=False)
        try:
            self._start(port or 0)
        except StartError:  # somebody has taken it since
            self._start(0)

    def _start(self, port: int) -> None:
        self._server = Server(
            port=port,
            state=self._state,
            balance_cents=self._balance_cents,
            clock=self.clock.seconds,
            faults=self._faults,
        )
        self.url = self._server.url
        self.port = int(self.url.rpartition(":")[2])
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()

    def start(self) -> None:
        """Again, at the port and with the state of before."""
        self._start(self.port)

    def stop(self) -> None:
        self._server.stop()
        self._thread.join()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        if self.is_running:
            self.stop()
        self._browser.close()

    @property
    def crowd(self) -> MTurkCrowd:
        return crowd_at(self.url)

    def _hire(self, name: str) -> Person:
        return Visitor(name, self._post)

    def _post(self, path: str, form: Mapping[str, str]) -> httpx.Response:
        return self._browser.post(f"{self.url}{path}", data=dict(form))

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Straight from the file."""
        with closing(sqlite3.connect(f"file:{self._state}?mode=ro", uri=True)) as state:
            return state.execute(query, values).fetchall()

    def alter(self, statement: str, *values: object) -> None:
        self.stop()
        with closing(sqlite3.connect(self._state)) as state, state:
            state.execute(statement, values)
        self.start()


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class LentCrowd(MTurkCrowd):
    """The real adapter over the kept client, to be varied by a test."""

    def _connect(self) -> "MTurkClient":
        return crowd_at(self._endpoint)._client


class MortalCrowd(LentCrowd):
    """The real adapter in a process that dies at one of the calls that change something.

    It dies after `calls` of them: `answered` says whether the crowd has carried out the next one.
    """

    def __init__(self, endpoint: str, *, calls: int, answered: bool) -> None:
        super().__init__(endpoint)
        self._left = calls
        self._answered = answered

    def create_hit(self, **arguments: Any) -> str:
        call = super().create_hit
        return str(self._survive(lambda: call(**arguments)))

    def extend_hit(self, hit_id: str, *, extra: int, token: str) -> None:
        call = super().extend_hit
        self._survive(lambda: call(hit_id, extra=extra, token=token))

    def approve(self, assignment_id: str) -> None:
        call = super().approve
        self._survive(lambda: call(assignment_id))

    def reject(self, assignment_id: str, *, reason: str, why: RejectionReason) -> None:
        call = super().reject
        self._survive(lambda: call(assignment_id, reason=reason, why=why))

    def exclude(self, worker_id: str, *, exclusion_id: str) -> None:
        call = super().exclude
        self._survive(lambda: call(worker_id, exclusion_id=exclusion_id))

    def _survive(self, call: Callable[[], Any]) -> Any:
        self._left -= 1
        # Who is dead makes no more calls, whatever was still to be done.
        if self._left < -1 or (self._left < 0 and not self._answered):
            raise Killed
        answer = call()
        if self._left < 0:
            raise Killed
        return answer
