"""A release's files: by their signed links, and its plots on the release's page."""

from django.core.files.storage import FileSystemStorage
from django.http import FileResponse, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from annotation.models import Campaign
from annotation.web.base.guards import refuse
from core.errors import UserError
from exports.delivery.byte_ranges import Content, answer, begins
from exports.delivery.signed_links import FOREIGN, Link, LinkError, follow, name_of
from exports.delivery.storage import key, open_file, storage
from exports.models import Download, ReleaseFile
from exports.web.access import campaign_releases_page

REFUSED = "This link opens nothing"
GONE = (
    "The file in the storage is missing or not the one released: ask the people who run this"
    " site to restore it from a backup."
)
# Plots carry their styles in themselves; nothing else in them may do anything.
OF_PLOTS = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@require_safe
def release_file(request: HttpRequest, token: str, filename: str) -> HttpResponseBase:
    """Needs no session, so that any program can fetch it; a session of somebody else refuses."""
    try:
        link = follow(token, filename)
    except LinkError as error:
        return refuse(request, 403, REFUSED, str(error))
    if request.user.is_authenticated and request.user.pk != link.user.pk:
        return refuse(request, 403, REFUSED, FOREIGN)
    content = Content(name_of(link.file), link.file.bytes, link.file.sha256)
    if not isinstance(storage(), FileSystemStorage):
        _count(request, link, content)
        return HttpResponseRedirect(_elsewhere(request, link, content))
    try:
        file = open_file(link.file)
    except UserError:
        return refuse(request, 500, "The file is missing", GONE)
    if file.size != content.size:
        file.close()
        return refuse(request, 500, "The file is damaged", GONE)
    _count(request, link, content)
    return answer(request, content, file)


@require_safe
@campaign_releases_page
def plot(request: HttpRequest, campaign: Campaign, number: int, plot: str) -> HttpResponseBase:
    release = get_object_or_404(
        ReleaseFile.objects.select_related("release"),
        release__campaign=campaign,
        release__number=number,
        path=f"plots/{plot}.svg",
    )
    try:
        file = open_file(release)
    except UserError:
        return refuse(request, 500, "The plot is missing", GONE)
    response = FileResponse(file, content_type="image/svg+xml")
    response["Content-Security-Policy"] = OF_PLOTS
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _count(request: HttpRequest, link: Link, content: Content) -> None:
    if begins(request, content):
        Download.objects.create(file=link.file, user=link.user)


def _elsewhere(request: HttpRequest, link: Link, content: Content) -> str:
    """Where the storage serves the file itself, for as long as the link holds."""
    url: str = storage().url(  # type: ignore[call-arg]  # as S3's takes them
        key(link.file),
        parameters={
            "ResponseContentDisposition": content_disposition_header(True, content.name),
            "ResponseContentType": content.content_type,
        },
        expire=link.seconds_left,
        http_method=request.method,
    )
    return url
