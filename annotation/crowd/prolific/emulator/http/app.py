"""The WSGI application: the API below /api/v1, the participants' face below /participants."""

import json
import logging
import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, RequestRedirect, Rule

from annotation.crowd.prolific.emulator.dispatch import Call, Operation, Reply
from annotation.crowd.prolific.emulator.errors import ApiError, Refused
from annotation.crowd.prolific.emulator.operations import (
    bonuses,
    groups,
    hooks,
    messages,
    participants,
    reviews,
    studies,
    submissions,
    transitions,
    workspaces,
)
from annotation.crowd.prolific.emulator.store import Store
from annotation.crowd.wire.faults import Faults
from annotation.crowd.wire.faulty_wire import Api, FaultyWire

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MAX_BODY_BYTES = 1_048_576
ROOT = "/api/v1"
API: tuple[Operation, ...] = (
    *workspaces.OPERATIONS,
    *studies.OPERATIONS,
    *transitions.OPERATIONS,
    *submissions.OPERATIONS,
    *reviews.OPERATIONS,
    *bonuses.OPERATIONS,
    *groups.OPERATIONS,
    *messages.OPERATIONS,
    *hooks.OPERATIONS,
)

log = logging.getLogger(__name__)


class LimitedRequest(Request):
    max_content_length = MAX_BODY_BYTES


class Emulator:
    """Both faces of one store."""

    def __init__(self, store: Store, *, token: str, faults: Faults | None = None) -> None:
        self._store = store
        self._token = token
        strict = store.readings.slashes == "redirect"
        self._api = _routes(ROOT, API, strict=strict)
        self._people = _routes("", participants.OPERATIONS, strict=False)
        api = Api(self._answer_api, operation_name, throttled, failed)
        self._wire = FaultyWire(api, store, faults or Faults())

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        request = LimitedRequest(environ)
        is_api = request.path.startswith("/api/")
        answer = self._wire.answer if is_api else self._answer_participant
        return answer(request)(environ, start_response)

    def _answer_api(self, request: Request) -> Response:
        operation = None
        try:
            self._authenticate(request)
            operation, arguments = _match(self._api, request)
            return _response(self._run(operation, arguments, request))
        except RequestRedirect as redirect:
            return Response(status=redirect.code, headers={"Location": redirect.new_url})
        except HTTPException as error:
            refusal = ApiError(error.code or 400, error.name)
        except ApiError as error:
            refusal = error
        log.info("%s refused: %s", operation_name(request), refusal)
        return _response(Reply(self._error_body(operation, refusal), refusal.status))

    def _answer_participant(self, request: Request) -> Response:
        try:
            operation, arguments = _match(self._people, request)
            return _response(self._run(operation, arguments, request))
        except HTTPException as error:
            status, sentence = error.code or 400, error.name
        except (Refused, ApiError) as refusal:
            status, sentence = refusal.status, str(refusal)
        return _response(Reply({"detail": sentence}, status))

    def _authenticate(self, request: Request) -> None:
        given = request.headers.get("Authorization", "").encode()
        if not secrets.compare_digest(given, f"Token {self._token}".encode()):
            raise ApiError(401, "Invalid token.")

    def _run(self, operation: Operation, arguments: Mapping[str, Any], request: Request) -> Reply:
        body = _body(request) if operation.writes else {}
        transaction = self._store.writing if operation.writes else self._store.reading
        with transaction() as session:
            call = Call(session, body, request.args.to_dict(), request.base_url)
            return operation.run(call, **arguments)

    def _error_body(self, operation: Operation | None, refusal: ApiError) -> object:
        shape = self._store.readings.error_shape
        bare = operation is not None and operation.bare if shape == "declared" else shape == "bare"
        return refusal.body() if bare else {"error": refusal.body()}


def _routes(root: str, operations: Iterable[Operation], *, strict: bool) -> Map:
    rules = [
        Rule(root + it.path, methods=[it.method], endpoint=it, strict_slashes=strict)
        for it in operations
    ]
    return Map(rules, merge_slashes=False)


def _match(routes: Map, request: Request) -> tuple[Operation, Mapping[str, Any]]:
    operation, arguments = routes.bind_to_environ(request.environ).match()
    assert isinstance(operation, Operation)
    return operation, arguments


def _body(request: Request) -> dict[str, Any]:
    data = request.get_data()
    try:
        body = json.loads(data or b"{}", parse_constant=_refuse_constant)
        json.dumps(body, ensure_ascii=False).encode()  # fails for half a surrogate pair
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "The body is not JSON.") from error
    if not isinstance(body, dict):
        raise ApiError(400, "The body is not a JSON object.")
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _response(reply: Reply) -> Response:
    if reply.body is None:
        return Response(status=reply.status, headers=dict(reply.headers))
    return Response(
        json.dumps(reply.body),
        reply.status,
        dict(reply.headers),
        content_type="application/json",
    )


def operation_name(request: Request) -> str:
    return f"{request.method} {request.path}"


def throttled() -> Response:
    return _response(Reply({"error": ApiError(429, "Request was throttled.").body()}, 429))


def failed(status: int) -> Response:
    """Not always from the API itself: what is in front of it answers in HTML."""
    if status == 500:
        return _response(Reply({"error": ApiError(500, "Server error.").body()}, 500))
    return Response(f"<html><h1>{status}</h1></html>", status, content_type="text/html")
