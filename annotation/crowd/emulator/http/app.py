"""The WSGI application: which path leads where."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from annotation.crowd.emulator.errors import Refused
from annotation.crowd.emulator.http.wire import Wire, failed, operation_name, throttled
from annotation.crowd.emulator.http.worker_pages import Pages
from annotation.crowd.emulator.store import Store
from annotation.crowd.emulator.validation import Model
from annotation.crowd.wire.faults import Faults
from annotation.crowd.wire.faulty_wire import Api, FaultyWire

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MAX_BODY_BYTES = 1_048_576

ROUTES = Map(
    [
        Rule("/", methods=["GET"], endpoint="index"),
        Rule("/worker", methods=["GET"], endpoint="sign_in"),
        Rule("/worker/register", methods=["POST"], endpoint="register"),
        Rule("/worker/<worker_id>/hits", methods=["GET"], endpoint="hits"),
        Rule("/worker/<worker_id>/hits/<hit_id>/preview", methods=["GET"], endpoint="preview"),
        Rule("/worker/<worker_id>/hits/<hit_id>/accept", methods=["POST"], endpoint="accept"),
        Rule(
            "/worker/<worker_id>/assignments/<assignment_id>",
            methods=["GET"],
            endpoint="assignment",
        ),
        Rule(
            "/worker/<worker_id>/assignments/<assignment_id>/return",
            methods=["POST"],
            endpoint="give_back",
        ),
        Rule("/mturk/externalSubmit", methods=["POST"], endpoint="submit"),
        Rule("/question/<hit_id>", methods=["GET"], endpoint="html_question"),
        Rule("/question/externalHIT_v1.js", methods=["GET"], endpoint="external_hit_script"),
        Rule("/worker/<worker_id>/qualifications", methods=["GET"], endpoint="qualifications"),
        Rule(
            "/worker/<worker_id>/qualifications/<type_id>/request",
            methods=["POST"],
            endpoint="request_qualification",
        ),
        Rule(
            "/worker/<worker_id>/tests/<request_id>", methods=["GET"], endpoint="qualification_test"
        ),
        Rule("/worker/<worker_id>/tests/<request_id>", methods=["POST"], endpoint="submit_test"),
    ]
)


class LimitedRequest(Request):
    max_content_length = MAX_BODY_BYTES
    max_form_memory_size = MAX_BODY_BYTES
    max_form_parts = 1000


class Emulator:
    """Both faces of one store."""

    def __init__(self, store: Store, faults: Faults | None = None) -> None:
        faults = faults or Faults()
        api = Api(Wire(store, Model()).answer, operation_name, throttled, failed)
        self._wire = FaultyWire(api, store, faults)
        self._pages = Pages(store, faults)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        return self._answer(LimitedRequest(environ))(environ, start_response)

    def _answer(self, request: Request) -> Response:
        try:
            if request.method == "POST" and request.path == "/":
                return self._wire.answer(request)
            return self._page(request)
        except Refused as refusal:
            return self._pages.refusal(refusal.status, str(refusal))
        except HTTPException as error:
            return self._refusal(error)

    def _page(self, request: Request) -> Response:
        endpoint, arguments = ROUTES.bind_to_environ(request.environ).match()
        handler = getattr(self._pages, endpoint)
        response: Response = handler(request, **arguments)
        return response

    def _refusal(self, error: HTTPException) -> Response:
        """Also of what has no route or another method, and of bodies that are too large."""
        response = error.get_response()
        if response.status_code in range(300, 400):
            return Response(status=response.status_code, headers=[*response.headers])
        return self._pages.refusal(response.status_code, f"{error.name}.")
