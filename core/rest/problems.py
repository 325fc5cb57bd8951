"""Errors of the API: one shape for every one of them, a problem document (RFC 9457)."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.defaults import bad_request as bad_request_page
from django.views.defaults import server_error as server_error_page
from rest_framework import serializers
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.response import Response
from rest_framework.settings import api_settings

from core.errors import UserError
from core.text.clean import in_utf8

MEDIA_TYPE = "application/problem+json"
ROOT = "/api/"
INVALID = "The request is not valid: see `errors` for each field."
NOT_FOUND = "Not found, or your account can't view it."
FORBIDDEN = "Your account can't do this."
BROKEN = "Internal error: see the site's log. No change was left half done."
TOO_LARGE = "The request is too large: send less at once."
UNREADABLE = "The request cannot be read."


class ProblemSerializer(serializers.Serializer[dict[str, Any]]):
    """An error (RFC 9457)."""

    type = serializers.CharField(help_text="about:blank: the status says it all")
    title = serializers.CharField(help_text="the status in words")
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="what was wrong, and what to do about it")
    errors = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="what is wrong with each field, by its name",
    )


class Refusal(APIException):
    """An error of this status, with a sentence for the caller."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status_code = status


def problem(
    status: int, detail: str, errors: Mapping[str, list[str]] | None = None
) -> dict[str, object]:
    document: dict[str, object] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": in_utf8(detail),
    }
    if not errors:
        return document
    named = {in_utf8(name): list(map(in_utf8, of)) for name, of in errors.items()}
    return document | {"errors": named}


def of_the_api(request: HttpRequest) -> bool:
    return request.path.startswith(ROOT)


def plain(status: int, detail: str, errors: Mapping[str, list[str]] | None = None) -> JsonResponse:
    """A problem outside of the API's own views."""
    return JsonResponse(problem(status, detail, errors), status=status, content_type=MEDIA_TYPE)


def answer(exception: Exception, context: Mapping[str, Any]) -> Response | None:
    """REST framework's handler of exceptions; None: one of ours, for `server_error`."""
    known = _details(exception)
    if known is None:
        return None
    status, detail, errors = known
    return Response(
        problem(status, detail, errors),
        status=status,
        headers=_headers(exception),
        content_type=MEDIA_TYPE,
    )


def _details(exception: Exception) -> tuple[int, str, dict[str, list[str]] | None] | None:
    if isinstance(exception, UserError):
        return 422, str(exception), None
    if isinstance(exception, RequestDataTooBig):
        return 413, TOO_LARGE, None
    if isinstance(exception, Http404):
        return 404, NOT_FOUND, None
    if isinstance(exception, PermissionDenied):
        return 403, str(exception) or FORBIDDEN, None
    if isinstance(exception, ValidationError):
        return _invalid(exception)
    if isinstance(exception, APIException):
        return exception.status_code, str(exception.detail), None
    return None


def _invalid(exception: ValidationError) -> tuple[int, str, dict[str, list[str]] | None]:
    errors: dict[str, list[str]] = {}
    for path, sentence in _leaves(exception.detail):
        errors.setdefault(path, []).append(sentence)
    whole = errors.pop("", [])
    return exception.status_code, " ".join(whole) or INVALID, errors or None


def _leaves(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each sentence with its field's name, as `queries.0.query`; of the whole, an empty one."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            whole = str(name) == api_settings.NON_FIELD_ERRORS_KEY
            yield from _leaves(inner, path if whole else f"{path}.{name}".lstrip("."))
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from _leaves(inner, f"{path}.{number}".lstrip(".") if nested else path)
    else:
        yield path, str(detail)


def _headers(exception: Exception) -> dict[str, str]:
    headers = {}
    if scheme := getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = scheme
    if wait := getattr(exception, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return headers


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    """An address under the API's that is none."""
    return plain(404, f"{request.method} {request.path} is no operation of the API: see {ROOT}.")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if of_the_api(request):
        return plain(400, UNREADABLE)
    return bad_request_page(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    return plain(500, BROKEN) if of_the_api(request) else server_error_page(request)
