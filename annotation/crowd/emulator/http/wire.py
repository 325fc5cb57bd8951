"""The requester's face: MTurk's JSON protocol, one operation a POST."""

import json
import logging
import uuid
from collections.abc import Mapping
from typing import Any, NoReturn

from werkzeug import Request, Response

from annotation.crowd.emulator.dispatch import Answer, Call, Operation, Site
from annotation.crowd.emulator.errors import RequestError
from annotation.crowd.emulator.operations import (
    account,
    assignments,
    bonuses,
    hit_types,
    hits,
    lifecycle,
    notifications,
    qualification_requests,
    qualification_types,
    qualifications,
    reviews,
    workers,
)
from annotation.crowd.emulator.pagination import Pager
from annotation.crowd.emulator.store import Store
from annotation.crowd.emulator.validation import TARGET_PREFIX, Model
from annotation.crowd.wire.session import Session

CONTENT_TYPE = "application/x-amz-json-1.1"
OPERATIONS: dict[str, Operation] = {
    **account.OPERATIONS,
    **hit_types.OPERATIONS,
    **hits.OPERATIONS,
    **assignments.OPERATIONS,
    **bonuses.OPERATIONS,
    **lifecycle.OPERATIONS,
    **reviews.OPERATIONS,
    **notifications.OPERATIONS,
    **qualification_types.OPERATIONS,
    **qualification_requests.OPERATIONS,
    **qualifications.OPERATIONS,
    **workers.OPERATIONS,
}
THROTTLED: Answer = {"__type": "ThrottlingException", "message": "Rate exceeded"}
FAILED: dict[int, Answer] = {
    500: {
        "__type": "ServiceFault",
        "Message": "Amazon Mechanical Turk is temporarily unable to process your request.",
        "TurkErrorCode": "AWS.MechanicalTurk.ServiceFault",
    },
    503: {"__type": "ServiceUnavailable", "message": "Service Unavailable"},
}

log = logging.getLogger(__name__)


class ProtocolError(Exception):
    """Not a call at all: one of the errors that AWS's JSON protocol has for every service."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Wire:
    def __init__(
        self,
        store: Store,
        model: Model,
        site: Site = notifications.TEST_SITE,
    ) -> None:
        self._site = site
        self._store = store
        self._model = model
        self._pager = Pager(store.secret)

    def answer(self, request: Request) -> Response:
        """No signature is checked: any program that reaches a loopback port may call."""
        request_id = str(uuid.uuid4())
        try:
            name = self._operation_name(request)
            answer = self.run(name, _parsed(request.get_data()), request_id)
            return json_response(200, answer, request_id)
        except RecursionError:
            body: Answer = {
                "__type": "SerializationException",
                "message": "The body is nested too deep.",
            }
        except ProtocolError as error:
            body = {"__type": error.kind, "message": str(error)}
        except RequestError as error:
            body = {
                "__type": "RequestError",
                "Message": str(error),
                "TurkErrorCode": error.code,
            }
        log.info("%s refused: %s", request.headers.get("X-Amz-Target"), body)
        return json_response(400, body, request_id)

    def run(self, name: str, body: object, request_id: str = "") -> Answer:
        """RequestError where MTurk would refuse it."""
        operation = OPERATIONS[name]
        parameters = self._model.check_request(name, body)
        transaction = self._store.writing if operation.writes else self._store.reading
        with transaction() as session:
            return operation.run(self._call(session, parameters, request_id))

    def run_in(self, session: Session, name: str, **parameters: object) -> Answer:
        """As one step of a longer transaction."""
        checked = self._model.check_request(name, parameters)
        return OPERATIONS[name].run(self._call(session, checked, ""))

    def _call(self, session: Session, parameters: Mapping[str, Any], request_id: str) -> Call:
        return Call(session, parameters, request_id, self._pager, self._site)

    def _operation_name(self, request: Request) -> str:
        prefix, _, _ = request.headers.get("X-Amz-Target", "").partition(".")
        name = operation_name(request)
        if prefix != TARGET_PREFIX or name not in self._model.operations:
            message = f"X-Amz-Target must name an operation of {TARGET_PREFIX}."
            raise ProtocolError("UnknownOperationException", message)
        return name


def operation_name(request: Request) -> str:
    return request.headers.get("X-Amz-Target", "").partition(".")[2]


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body or b"{}", parse_constant=_refuse_constant)
    except ValueError as error:
        raise ProtocolError("SerializationException", f"The body is not JSON: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def json_response(status: int, body: Answer, request_id: str | None = None) -> Response:
    return Response(
        json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        status,
        {"x-amzn-RequestId": request_id or str(uuid.uuid4())},
        content_type=CONTENT_TYPE,
    )


def throttled() -> Response:
    return json_response(400, THROTTLED)


def failed(status: int) -> Response:
    return json_response(status, FAILED[status])
