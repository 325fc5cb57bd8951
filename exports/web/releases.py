"""All releases that the reader may download."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import DOWNLOAD, campaigns_where
from annotation.web.base.layout import page
from exports.models import Release
from exports.web.access import releases_page
from exports.web.rows import listed

PAGE_SIZE = 50


@require_safe
@releases_page
def releases(request: HttpRequest) -> HttpResponse:
    mine = Release.objects.filter(campaign__in=campaigns_where(request.user, DOWNLOAD))
    rows = listed(mine.order_by("-created_at", "-pk"))
    shown = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return page(request, "exports/releases.html", {"releases": shown}, title="Releases")
