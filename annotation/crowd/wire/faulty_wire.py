"""An API as a bad day shows it: some calls are lost, fail or come late."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from waitress.channel import ClientDisconnected
from werkzeug import Request, Response

from annotation.crowd.wire.faults import Fault, Faults, record
from annotation.crowd.wire.store import Store

Answerer = Callable[[Request], Response]


@dataclass(frozen=True)
class Api:
    """How an API answers, well and badly."""

    answer: Answerer
    operation: Callable[[Request], str]  # the name that the record of faults has
    throttled: Callable[[], Response]
    failed: Callable[[int], Response]  # by its status


class FaultyWire:
    def __init__(self, api: Api, store: Store[Any], faults: Faults) -> None:
        self._api = api
        self._store = store
        self._faults = faults

    def answer(self, request: Request) -> Response:
        fault = self._faults.of_call()
        if fault is None:
            return self._api.answer(request)
        # Outside of the call's own transaction, which may be refused.
        with self._store.writing() as session:
            record(session, fault.kind, self._api.operation(request))
        return self._disturbed(request, fault)

    def _disturbed(self, request: Request, fault: Fault) -> Response:
        if fault.kind == "throttled":
            return self._api.throttled()
        if fault.kind == "slow":
            time.sleep(fault.seconds)
            return self._api.answer(request)
        what, _, when = fault.kind.partition("_")
        if when == "after":
            self._api.answer(request)
        if what == "failed":
            return self._api.failed(fault.status)
        # waitress then closes the connection as it is: without a byte of an answer.
        raise ClientDisconnected
