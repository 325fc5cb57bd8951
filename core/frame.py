"""The frame around a page: the dashboard's for people who may enter it, the site's for others."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

DASHBOARD = "annotation/base/dashboard.html"
SITE = "base.html"
NOTICE = "annotation/base/notice.html"
# The theme's Alpine evaluates the attributes of its elements.
DASHBOARD_POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self' 'unsafe-inline'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)


def framed(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    title: str,
    status: int = 200,
) -> HttpResponse:
    """A page of the dashboard alone, whose guard has let the reader in."""
    frame = {**admin.site.each_context(request), "has_permission": True}
    whole = {**frame, "title": title, **context}
    response = render(request, template, whole, status=status)
    response["Content-Security-Policy"] = DASHBOARD_POLICY
    return response


def framed_for_reader(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    title: str,
    status: int = 200,
) -> HttpResponse:
    """A page for everybody: its template extends `frame`."""
    whole = {**frame_of(request), "title": title, **context}
    response = render(request, template, whole, status=status)
    if whole["frame"] == DASHBOARD:
        response["Content-Security-Policy"] = DASHBOARD_POLICY
    return response


def notice(request: HttpRequest, sentence: str, *, title: str, status: int) -> HttpResponse:
    """A page with one sentence."""
    return framed_for_reader(request, NOTICE, {"sentence": sentence}, title=title, status=status)


def frame_of(request: HttpRequest) -> dict[str, Any]:
    if admin.site.has_permission(request):
        return {"frame": DASHBOARD, **admin.site.each_context(request)}
    return {"frame": SITE}
