"""MTurk in memory: the adapter over the emulator's rules, without HTTP, a thread or a file."""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

from botocore import xform_name
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.model import ListShape, Shape, StructureShape

from annotation.crowd.emulator.errors import Refused, RequestError
from annotation.crowd.emulator.http.wire import OPERATIONS, Wire
from annotation.crowd.emulator.state import assignments
from annotation.crowd.emulator.store import Store
from annotation.crowd.emulator.validation import Model, service_model
from annotation.crowd.mturk.adapter import MTurkCrowd
from annotation.crowd.rate_limit import RateLimiter
from annotation.crowd.wire.session import Session
from tests.worlds.account import BALANCE_CENTS, Account, Person

if TYPE_CHECKING:
    from mypy_boto3_mturk import MTurkClient

METHODS = {xform_name(name): name for name in OPERATIONS}
MASTER = (True, 100, 5_000)  # whom the policy's defaults admit


class MemoryStore(Store):
    """One connection, which its callers share by turns."""

    def __init__(self, *, balance_cents: int, clock: Callable[[], float]) -> None:
        self._turn = threading.RLock()
        super().__init__(Path(":memory:"), balance_cents=balance_cents, clock=clock)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._turn, super().reading() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self._turn, super().writing() as session:
            yield session

    def rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._turn:
            return [tuple(row) for row in self._connection().execute(query, values)]

    def _connection(self) -> sqlite3.Connection:
        if self._connections:
            return self._connections[0]
        return super()._connection()


class MemoryClient:
    """boto3's client as far as the adapter uses it: the same parameters, answers and errors."""

    def __init__(self, store: MemoryStore, url: str, is_running: Callable[[], bool]) -> None:
        self._wire = Wire(store, Model())
        self._url = url
        self._is_running = is_running

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        operation = METHODS[method]
        return lambda **parameters: self._call(operation, parameters)

    def get_paginator(self, method: str) -> "Pages":
        return Pages(getattr(self, method))

    def _call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        if not self._is_running():
            raise EndpointConnectionError(endpoint_url=self._url)
        try:
            answer = self._wire.run(operation, _sent(parameters))
        except RequestError as error:
            said = {"Error": {"Code": "RequestError", "Message": str(error)}}
            status = {"ResponseMetadata": {"HTTPStatusCode": 400}}
            refusal = said | status | {"TurkErrorCode": error.code}
            raise ClientError(cast(Any, refusal), operation) from error
        shape = service_model().operation_model(operation).output_shape
        return cast(dict[str, Any], _received(answer, shape))


class Pages:
    def __init__(self, call: Callable[..., dict[str, Any]]) -> None:
        self._call = call

    def paginate(
        self, *, PaginationConfig: Mapping[str, int], **parameters: Any
    ) -> Iterator[dict[str, Any]]:
        following: dict[str, str] = {}
        while True:
            page = self._call(MaxResults=PaginationConfig["PageSize"], **parameters, **following)
            yield page
            if "NextToken" not in page:
                return
            following = {"NextToken": page["NextToken"]}


def _sent(value: Any) -> Any:
    """As boto3 would write it."""
    if isinstance(value, Mapping):
        return {name: _sent(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_sent(one) for one in value]
    return value.timestamp() if isinstance(value, datetime) else value


def _received(value: Any, shape: Shape) -> Any:
    """As boto3 would read it: members that it knows, times as such."""
    if isinstance(shape, StructureShape):
        members = shape.members
        return {name: _received(one, members[name]) for name, one in value.items()}
    if isinstance(shape, ListShape):
        return [_received(one, shape.member) for one in value]
    return datetime.fromtimestamp(value, UTC) if shape.type_name == "timestamp" else value


class MemoryCrowd(MTurkCrowd):
    def __init__(
        self, endpoint: str, client: MemoryClient, rate: RateLimiter | None = None
    ) -> None:
        self._memory = client
        super().__init__(endpoint, rate)

    def _connect(self) -> "MTurkClient":
        return cast("MTurkClient", self._memory)


class MemoryPerson(Person):
    """Does what the emulator's pages would let them do."""

    def __init__(self, name: str, store: MemoryStore) -> None:
        super().__init__(name)
        self._store = store
        with store.writing() as session:
            assignments.register(session, self.id, MASTER)

    def accept(self, hit_id: str) -> str | None:
        try:
            with self._store.writing() as session:
                return assignments.accept(session, self.id, hit_id)
        except Refused:
            return None

    def submit(self, assignment_id: str, answers: Mapping[str, str]) -> None:
        with self._store.writing() as session:
            assignments.submit(session, assignment_id, [*answers.items()], approved_after=None)

    def give_back(self, assignment_id: str) -> None:
        with self._store.writing() as session:
            assignments.give_back(session, self.id, assignment_id)


IN_MEMORY: WeakValueDictionary[str, "MemoryMTurk"] = WeakValueDictionary()  # by address


def open_mturk(endpoint: str, rate: RateLimiter | None = None) -> MTurkCrowd:
    """In place of the adapter's class, where a test's settings may name a world in memory."""
    world = IN_MEMORY.get(endpoint)
    return MTurkCrowd(endpoint, rate) if world is None else world.crowd_at(rate)


class MemoryMTurk(Account):
    _numbers = count(1)

    def __init__(self, *, balance_cents: int = BALANCE_CENTS) -> None:
        super().__init__()
        self.url = f"http://memory-{next(self._numbers)}.localhost"
        self._is_running = True
        self._store = MemoryStore(balance_cents=balance_cents, clock=self.clock.seconds)
        self._client = MemoryClient(self._store, self.url, lambda: self._is_running)
        self._crowd = self.crowd_at(None)
        IN_MEMORY[self.url] = self

    @property
    def crowd(self) -> MTurkCrowd:
        return self._crowd

    def crowd_at(self, rate: RateLimiter | None) -> MTurkCrowd:
        return MemoryCrowd(self.url, self._client, rate)

    @property
    def is_running(self) -> bool:
        return self._is_running

    def start(self) -> None:
        self._is_running = True

    def stop(self) -> None:
        self._is_running = False

    def close(self) -> None:
        self._store.close()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._store.rows(query, values)

    def alter(self, statement: str, *values: object) -> None:
        self._store.rows(statement, values)

    def _hire(self, name: str) -> Person:
        return MemoryPerson(name, self._store)
