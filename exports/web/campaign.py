"""A campaign's releases, how each came to be, and the form that asks for the next one."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django.views.decorators.http import require_safe

from annotation.models import Campaign
from annotation.web.base.layout import page
from exports.building.requests import thousandths
from exports.models import Build, Release
from exports.web.access import campaign_releases_page, may_build
from exports.web.forms import BuildForm
from exports.web.releases import PAGE_SIZE, listed
from exports.web.tables import changes_in_words


@require_safe
@campaign_releases_page
def campaign_releases(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    return campaign_page(request, campaign, BuildForm(campaign))


def campaign_page(
    request: HttpRequest, campaign: Campaign, form: BuildForm, *, status: int = 200
) -> HttpResponse:
    build = _latest_build(campaign)
    releases = listed(Release.objects.filter(campaign=campaign).order_by("-number"))
    shown = Paginator(releases, PAGE_SIZE).get_page(request.GET.get("page"))
    content = {
        "releases": shown,
        "rows": [(release, changes_in_words(release.changes)) for release in shown],
        "build": build,
        "build_state": build and state_of(build),
        "form": form,
        "may_build": may_build(request, campaign),
    }
    template = "exports/campaign.html"
    return page(request, template, content, title="Releases", campaign=campaign, status=status)


def state_of(build: Build) -> dict[str, object]:
    return {
        "unfinished": not build.is_over,
        "stage": capfirst(build.stage) or "Waiting for a worker",
        "percent": thousandths(build) / 10,
    }


def _latest_build(campaign: Campaign) -> Build | None:
    return Build.objects.filter(subject=campaign.name).order_by("-pk").first()
