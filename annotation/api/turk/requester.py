"""MTurk's own API, for programs that were written for it: an operation a POST, signed as AWS's."""

import logging
import re
import sqlite3
from functools import cache
from io import BytesIO

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from werkzeug import Request, Response

from annotation.api.base.throttling import counts_in
from annotation.crowd.emulator.dispatch import Site
from annotation.crowd.emulator.errors import invalid
from annotation.crowd.emulator.http.app import MAX_BODY_BYTES
from annotation.crowd.emulator.http.wire import FAILED, Wire, json_response, throttled
from annotation.crowd.emulator.store import Store
from annotation.crowd.emulator.validation import Model
from annotation.crowd.turk.signature import Sent, Unsigned, signer
from annotation.crowd.turk.stores import Environment, store_of
from annotation.crowd.turk.workers import is_expected
from annotation.notifications.addresses import check_url
from core.errors import UserError
from core.log_context import also_about

QUEUE = re.compile(
    r"^https?://([\w-]+\.)*(sqs(-fips)?|queue)\.([\w-]+\.)?amazonaws\.com(/|$)", re.I
)
CALLS_PER_MINUTE = 3_000  # of an account

log = logging.getLogger(__name__)


@csrf_exempt
@require_POST
@never_cache
def requester(request: HttpRequest, environment: Environment) -> HttpResponse:
    answer = _answer(request, environment)
    headers = {name: value for name, value in answer.headers.items() if name != "Content-Length"}
    return HttpResponse(answer.get_data(), status=answer.status_code, headers=headers)


def _answer(request: HttpRequest, environment: Environment) -> Response:
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        message = f"The body is larger than {MAX_BODY_BYTES} bytes."
        return json_response(413, {"__type": "RequestEntityTooLargeException", "message": message})
    sent = Sent(request.build_absolute_uri(), request.headers, request.body)
    try:
        account = signer(sent, now=timezone.now())
    except Unsigned as error:
        return json_response(400, {"__type": error.kind, "message": str(error)})
    also_about(turk=account.name)
    if not counts_in(settings.CROWD_RATE_STORAGE).admit(f"turk {account.pk}", CALLS_PER_MINUTE):
        return throttled()
    environ = {**request.META, "wsgi.input": BytesIO(request.body)}
    try:
        return _wire(store_of(account, environment)).answer(Request(environ))
    except sqlite3.OperationalError:  # another call has written for long, or the disk is full
        log.exception("The record of %s cannot be used", account.name)
        return json_response(503, FAILED[503])


@cache
def _wire(store: Store) -> Wire:
    return Wire(store, _model(), Site(_check_destination, is_expected, refuses_impossible=True))


def _check_destination(transport: str, destination: str) -> None:
    if transport == "Email":
        raise invalid("Transport must be SQS or SNS: this site posts events to a URL.")
    if QUEUE.search(destination):
        raise invalid("Destination must be a URL of your own: this site posts to no queue of AWS.")
    try:
        check_url(destination)
    except UserError as error:
        raise invalid(f"Destination must be a URL that events can be posted to. {error}") from error


@cache
def _model() -> Model:
    return Model()
