"""A campaign's long list with its filters above it."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse

from annotation.models import Campaign
from annotation.web.base.filters import Filter
from annotation.web.base.layout import page
from annotation.web.base.pagination import Window, key_of

F = TypeVar("F", bound=Filter)
Find = Callable[[Campaign, F, int], Window]  # the rows that the filter leaves, from a key on


def list_page(
    request: HttpRequest, campaign: Campaign, search: type[F], find: Find[F], *, title: str
) -> HttpResponse:
    """Filters that are wrong find nothing: their fields say so. The template is called as it is."""
    form = search(request.GET)
    context: dict[str, Any] = {"form": form, "filtered": any(request.GET.values())}
    valid = form.is_valid()
    if valid:
        context["found"] = find(campaign, form, key_of(request.GET.get("from", "")))
    status, template = 200 if valid else 422, f"annotation/hits/{title.lower()}.html"
    return page(request, template, context, title=title, campaign=campaign, status=status)
