"""A running Prolific, its researcher's client, and the people who take part."""

import itertools
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx

from annotation.crowd.port import CrowdError
from annotation.crowd.prolific.api.studies import REVIEW, CompletionCode, NewStudy
from annotation.crowd.prolific.client import ProlificClient
from annotation.crowd.prolific.connection import ProlificConnection
from annotation.crowd.prolific.emulator.http.server import TOKEN, Server
from annotation.crowd.prolific.emulator.readings import Readings
from annotation.crowd.rate_limit import RateLimiter
from annotation.crowd.wire.faults import Faults

MINUTE = 60
DAY = 86_400
NOBODY = "f" * 24  # an id that nothing has
LONG = (
    "The answers to the items whose answer is known were wrong in more than half of the cases. " * 2
)
DONE = CompletionCode("DONE", "COMPLETED", [REVIEW])
STUDY = NewStudy(
    name="Same question?",
    description="Read two questions.",
    external_study_url=(
        "https://quorum.example/hit?pid={{%PROLIFIC_PID%}}&st={{%STUDY_ID%}}&se={{%SESSION_ID%}}"
    ),
    completion_codes=[DONE],
    total_available_places=2,
    estimated_minutes=5,
    maximum_minutes=25,
    reward_cents=100,
    internal_name="hit-1",
)


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


class Unpaused(RateLimiter):
    """Counts the pauses that were asked for, and takes none."""

    def __init__(self) -> None:
        super().__init__("prolific", calls_per_second=0)
        self.pauses = 0

    def penalise(self) -> None:
        self.pauses += 1


@dataclass
class Person:
    id: str
    http: httpx.Client

    def post(self, path: str, **body: object) -> httpx.Response:
        return self.http.post(f"/participants/{self.id}/{path}/", json=body)

    def get(self, path: str) -> list[dict[str, Any]]:
        answer = self.http.get(f"/participants/{self.id}/{path}/").raise_for_status()
        results: list[dict[str, Any]] = answer.json()["results"]
        return results

    def offers(self) -> list[str]:
        return [it["study_id"] for it in self.get("studies")]

    def take(self, study_id: str) -> str:
        answer = self.post(f"studies/{study_id}/take")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["submission_id"])

    def open(self, submission_id: str) -> str:
        answer = self.post(f"submissions/{submission_id}/open")
        assert answer.status_code == 200, answer.text
        return str(answer.json()["url"])

    def complete(self, submission_id: str, code: str | None = "DONE") -> str:
        answer = self.post(f"submissions/{submission_id}/complete", code=code)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["status"])

    def give_up(self, submission_id: str) -> httpx.Response:
        return self.post(f"submissions/{submission_id}/return")

    def start(self, study_id: str) -> str:
        submission_id = self.take(study_id)
        self.open(submission_id)
        return submission_id

    def do(self, study_id: str, code: str | None = "DONE") -> str:
        submission_id = self.start(study_id)
        self.complete(submission_id, code)
        return submission_id


@dataclass
class Prolific:
    """One emulator and what is around it."""

    url: str
    state: Path
    clock: Clock
    server: Server
    client: ProlificClient
    rate: Unpaused
    http: httpx.Client  # with the token, for what the client would not send
    people: httpx.Client
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def workspace(self) -> str:
        return next(self.client.workspaces.list()).workspace_id

    def person(self) -> Person:
        person = Person(f"{next(self.numbers):024x}", self.people)
        answer = self.people.post("/participants/", json={"participant_id": person.id})
        assert answer.status_code == 201
        return person

    def draft(self, **changes: Any) -> str:
        return self.client.studies.create(replace(STUDY, **changes)).study_id

    def study(self, **changes: Any) -> str:
        """Published, and open to participants."""
        study_id = self.draft(**changes)
        self.client.studies.transition(study_id, "PUBLISH")
        self.clock.forward(2)
        return study_id

    def status(self, study_id: str) -> str:
        return self.client.studies.get(study_id).status

    def submission(self, submission_id: str) -> str:
        return self.client.submissions.get(submission_id).status

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.state) as db:
            return db.execute(query, values).fetchall()

    def wallet(self) -> tuple[int, int, int]:
        """Available, locked and paid, in hundredths of a cent."""
        ((available, locked, paid),) = self.rows(
            "SELECT available, locked, paid FROM workspaces WHERE seq = 1"
        )
        return available, locked, paid

    def transition(self, kind: str, key: str, **body: object) -> httpx.Response:
        return self.http.post(f"/{kind}/{key}/transition/", json=body)


class Target:
    """A program that gets events, and answers as it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[bytes, Any]] = []
        self.status = 200
        self.seconds = 0.0
        target = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                target.got.append((body, self.headers))
                time.sleep(target.seconds)
                self.send_response(target.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def statuses(self) -> list[str]:
        return [json.loads(body)["status"] for body, _ in self.got]


def client_at(
    url: str, token: str = TOKEN, *, rate: RateLimiter | None = None, timeout: float = 10
) -> ProlificClient:
    connection = ProlificConnection(url, token, rate or Unpaused(), httpx.Timeout(timeout))
    return ProlificClient(connection)


@contextmanager
def running(
    state: Path,
    *,
    clock: Clock | None = None,
    faults: Faults | None = None,
    balance_cents: int = 100_000,
    timeout: float = 10,
    **readings: Any,
) -> Iterator[Prolific]:
    """An emulator in a thread of this process."""
    clock = clock or Clock()
    server = Server(
        state=state,
        clock=clock,
        faults=faults,
        balance_cents=balance_cents,
        readings=Readings(**readings),
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    rate = Unpaused()
    token = {"Authorization": f"Token {TOKEN}"}
    try:
        with (
            client_at(server.url, rate=rate, timeout=timeout) as client,
            httpx.Client(
                base_url=f"{server.url}/api/v1", headers=token, trust_env=False, verify=False
            ) as http,
            httpx.Client(base_url=server.url, trust_env=False, verify=False) as people,
        ):
            yield Prolific(server.url, state, clock, server, client, rate, http, people)
    finally:
        server.stop()
        thread.join()


def insist(call: Any, *arguments: object, **named: object) -> Any:
    """Until it is done, as an outbox does it."""
    while True:
        try:
            return call(*arguments, **named)
        except CrowdError as error:
            if error.permanent:
                raise
