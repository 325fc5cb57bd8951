"""What holds for every page: what it may load, and what it says while the database is away."""

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.log import log_response

from core.frame import DASHBOARD_POLICY, notice
from core.log_context import about
from core.prometheus import REQUESTS
from core.rest.problems import of_the_api, plain

AWAY_SECONDS = 60
NO_PAGE = (
    "This is no page",
    "This address only accepts what a page of this site sends: go back and try again there.",
)
AWAY = "The site is unavailable for a moment: keep this page open and try again in a minute."
AWAY_FOR_PROGRAMS = "The database is away for a moment: ask again in a minute."
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
PARTICIPANT = "participant"  # in the session of somebody whom a panel sent
FOR_PARTICIPANTS = {
    *("panel", "visit", "work", "next", "assignment", "return", "renew", "read-instructions"),
    *("sign-out", "health", "metrics"),
}
# Of the server that stands before the site; anything else could forge lines of the log.
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

log = logging.getLogger(__name__)


class RequestMetrics:
    """Each request has a name, which its log lines and its answer carry, and is timed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        name = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        began = time.perf_counter()
        with about(request=name):
            response = self._get_response(request)
            if response.status_code >= 400:
                # Here, where what it is about is known: Django does so after all middleware.
                words = response.reason_phrase, request.path
                log_response("%s: %s", *words, response=response, request=request)
        response["X-Request-ID"] = name
        match = request.resolver_match
        view = (match.view_name if match else "") or "none"
        method = request.method if request.method in METHODS else "other"
        seconds = time.perf_counter() - began
        REQUESTS.labels(view, method, str(response.status_code)).observe(seconds)
        return response


class PageRules:
    """A page that has a content security policy of its own keeps it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            response = _filled(request, response)
        theirs = request.path.startswith(reverse("admin:index"))
        policy = DASHBOARD_POLICY if theirs else CONTENT_SECURITY_POLICY
        response.headers.setdefault("Content-Security-Policy", policy)
        if of_the_api(request):
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> HttpResponse | None:
        """Whoever knows a participant's ID comes in by it: that opens their tasks alone."""
        match = request.resolver_match
        is_signed_in = settings.SESSION_COOKIE_NAME in request.COOKIES
        if not is_signed_in or match is None or match.view_name in FOR_PARTICIPANTS:
            return None
        try:
            return redirect("work") if request.session.get(PARTICIPANT) else None
        except (OperationalError, InterfaceError):
            return None  # the page itself says that the database is away

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, OperationalError | InterfaceError):
            return None
        log.error("The database is away", exc_info=exception)
        response = _away(request)
        response["Retry-After"] = str(AWAY_SECONDS)
        return response


def wants_json(request: HttpRequest) -> bool:
    """Whether a script of ours asks, which shows the answer's sentence in its own page."""
    kinds = ["text/html", "application/json"]
    return request.get_preferred_type(kinds) == "application/json"


def _filled(request: HttpRequest, response: HttpResponseNotAllowed) -> HttpResponse:
    """Django's own is a blank page."""
    title, sentence = NO_PAGE
    if wants_json(request):
        said: HttpResponse = JsonResponse({"error": sentence}, status=response.status_code)
    else:
        said = notice(request, sentence, title=title, status=response.status_code)
    said["Allow"] = response["Allow"]
    return said


def _away(request: HttpRequest) -> HttpResponse:
    if of_the_api(request):
        return plain(503, AWAY_FOR_PROGRAMS)
    if wants_json(request):
        return JsonResponse({"error": AWAY}, status=503)
    # Without the site's head, which would ask the database who reads.
    words = {"title": "Away for a moment", "sentences": [AWAY]}
    return HttpResponse(render_to_string("annotation/annotator/refusal.html", words), status=503)
