"""The frame of the administration around every page of the dashboard."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def framed(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    title: str,
    status: int = 200,
) -> HttpResponse:
    whole = {**admin.site.each_context(request), "title": title, **context}
    return render(request, template, whole, status=status)
