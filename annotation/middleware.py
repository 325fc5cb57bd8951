"""What holds for every page: what it may load, and what it says while the database is away."""

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse

AWAY_SECONDS = 60
NO_PAGE = (
    "This is no page",
    "This address only takes what a page of the site sends to it: go back, and on from there.",
)
AWAY = "The site is away for a moment: keep this page open and try again in a minute."
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

log = logging.getLogger(__name__)


class PageRules:
    """A page that has a content security policy of its own keeps it; the admin's keeps none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            response = _filled(request, response)
        if not request.path.startswith(reverse("admin:index")):
            response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response

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
        words = {"title": title, "sentences": [sentence]}
        page = render_to_string("annotation/refusal.html", words)
        said = HttpResponse(page, status=response.status_code)
    said["Allow"] = response["Allow"]
    return said


def _away(request: HttpRequest) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"error": AWAY}, status=503)
    # Without the site's head, which would ask the database who reads.
    words = {"title": "Away for a moment", "sentences": [AWAY]}
    return HttpResponse(render_to_string("annotation/refusal.html", words), status=503)
