"""All releases that the reader may download."""

from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.access.roles import DOWNLOAD, campaigns_where
from annotation.web.base.layout import page
from exports.layout.files import ARCHIVE_SUFFIX
from exports.models import Download, Release, ReleaseFile
from exports.web.access import releases_page

PAGE_SIZE = 50


@require_safe
@releases_page
def releases(request: HttpRequest) -> HttpResponse:
    mine = Release.objects.filter(campaign__in=campaigns_where(request.user, DOWNLOAD))
    rows = listed(mine.order_by("-created_at", "-pk"))
    shown = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return page(request, "exports/releases.html", {"releases": shown}, title="Releases")


def listed(releases: QuerySet[Release]) -> QuerySet[Release]:
    """Each with `downloads` and `archive_bytes`, None where there is no archive."""
    fetched = (
        Download.objects.filter(file__release=OuterRef("pk"))
        .order_by()
        .values("file__release")
        .annotate(fetched=Count("pk"))
        .values("fetched")
    )
    archive = ReleaseFile.objects.filter(release=OuterRef("pk"), path__endswith=ARCHIVE_SUFFIX)
    return releases.select_related("campaign").annotate(
        downloads=Coalesce(Subquery(fetched), 0),
        archive_bytes=Subquery(archive.values("bytes")[:1]),
    )
