"""A campaign's long list with its filters above it."""

from typing import Any, Protocol

from django.http import HttpRequest, HttpResponse

from annotation.models import Campaign
from annotation.web.base.filters import Filter
from annotation.web.base.layout import page
from annotation.web.base.pagination import Window, key_of


class Find(Protocol):
    """The rows that the filters leave."""

    def __call__(self, campaign: Campaign, asked: Any, *, start: int) -> Window: ...


def list_page(
    request: HttpRequest,
    campaign: Campaign,
    search: type[Filter],
    find: Find,
    *,
    title: str,
) -> HttpResponse:
    """Filters that are wrong find nothing: their fields say so. The template is called as it is."""
    form = search(request.GET)
    context: dict[str, Any] = {"form": form, "filtered": any(request.GET.values())}
    valid = form.is_valid()
    if valid:
        start = key_of(request.GET.get("from", ""))
        context["found"] = find(campaign, form, start=start)
    status, template = 200 if valid else 422, f"annotation/hits/{title.lower()}.html"
    return page(request, template, context, title=title, campaign=campaign, status=status)
