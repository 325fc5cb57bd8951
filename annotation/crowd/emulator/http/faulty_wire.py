"""The requester's face as a bad day shows it: some calls are lost, fail or come late."""

import time

from waitress.channel import ClientDisconnected
from werkzeug import Request, Response

from annotation.crowd.emulator.dispatch import Answer
from annotation.crowd.emulator.http.faults import Fault, Faults, record
from annotation.crowd.emulator.http.wire import Wire, json_response, operation_name
from annotation.crowd.emulator.store import Store

THROTTLED: Answer = {"__type": "ThrottlingException", "message": "Rate exceeded"}
FAILED: dict[int, Answer] = {
    500: {
        "__type": "ServiceFault",
        "Message": "Amazon Mechanical Turk is temporarily unable to process your request.",
        "TurkErrorCode": "AWS.MechanicalTurk.ServiceFault",
    },
    503: {"__type": "ServiceUnavailable", "message": "Service Unavailable"},
}


class FaultyWire:
    def __init__(self, wire: Wire, store: Store, faults: Faults) -> None:
        self._wire = wire
        self._store = store
        self._faults = faults

    def answer(self, request: Request) -> Response:
        fault = self._faults.of_call()
        if fault is None:
            return self._wire.answer(request)
        # Outside of the call's own transaction, which may be refused.
        with self._store.writing() as session:
            record(session, fault.kind, operation_name(request))
        return self._disturbed(request, fault)

    def _disturbed(self, request: Request, fault: Fault) -> Response:
        if fault.kind == "throttled":
            return json_response(400, THROTTLED)
        if fault.kind == "slow":
            time.sleep(fault.seconds)
            return self._wire.answer(request)
        what, _, when = fault.kind.partition("_")
        if when == "after":
            self._wire.answer(request)
        if what == "failed":
            return json_response(fault.status, FAILED[fault.status])
        # waitress then closes the connection as it is: without a byte of an answer.
        raise ClientDisconnected
