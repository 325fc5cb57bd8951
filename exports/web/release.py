"""The downloads page of one release."""

from datetime import timedelta
from shlex import quote
from typing import cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.models import Campaign
from annotation.protocol.estimates.split_sizes import too_small_to_measure
from annotation.web.base.layout import page
from exports.card.licences import bibtex
from exports.formats.lazy import snippets
from exports.layout.manifest import checksums_code
from exports.models import Release
from exports.web.access import campaign_releases_page
from exports.web.offers import Offer, archive_of, formats_of, offers_of, plots_of
from exports.web.provenance import provenance_of
from exports.web.quality import quality_table
from exports.web.tables import (
    at,
    baseline_tables,
    changes_in_words,
    key_figures,
    queries_of,
    split_table,
)


@require_safe
@campaign_releases_page
def release_page(request: HttpRequest, campaign: Campaign, number: int) -> HttpResponse:
    release = get_object_or_404(
        Release.objects.select_related("campaign__query_set"), campaign=campaign, number=number
    )
    folder = f"{campaign}-{number}"
    offers = offers_of(release, cast(User, request.user))
    archive = archive_of(offers)
    retrieved = release.campaign.query_set.retrieved_with_id is not None
    unpack, *loading = snippets(folder)
    content = {
        "release": release,
        **_beside(release),
        "figures": key_figures(release.stats),
        "splits": split_table(release.stats),
        "quality": quality_table(release.stats),
        "baselines": baseline_tables(release.stats, retrieved=retrieved),
        "few_queries": too_small_to_measure(queries_of(release.stats)),
        "way": at(release.stats, "baselines", "way"),
        "archive": archive,
        "fetch": _fetch(archive) + unpack.code if archive else "",
        "formats": formats_of(offers),
        "plots": plots_of(offers, retrieved=retrieved),
        "snippets": loading,
        "provenance": provenance_of(release),
        "changes": changes_in_words(release.changes),
        "citation": bibtex(
            campaign.name,
            number,
            year=release.created_at.year,
            url=_address(request),
            sha256=release.manifest_sha256,
        ),
        "verify": f"python -m exports.verify {folder}",
        "checksums": checksums_code(folder),
        "expires": timezone.now() + timedelta(seconds=settings.LINK_SECONDS),
    }
    title = f"Release {number}"
    return page(request, "exports/release.html", content, title=title, campaign=campaign)


def _address(request: HttpRequest) -> str:
    """Nothing where nobody else can open it."""
    public = settings.PUBLIC_URL
    return public + request.path if public.startswith("https://") else ""


def _beside(release: Release) -> dict[str, int | None]:
    """The numbers of the releases before and after it."""
    of_campaign = Release.objects.filter(campaign=release.campaign_id).values_list(
        "number", flat=True
    )
    return {
        "before": of_campaign.filter(number__lt=release.number).order_by("-number").first(),
        "after": of_campaign.filter(number__gt=release.number).order_by("number").first(),
    }


def _fetch(archive: Offer) -> str:
    """For a terminal on any machine: the whole address, then the proof that all has come."""
    address = settings.PUBLIC_URL + archive.href
    checksum = f"{archive.sha256}  {archive.name}"
    return (
        f"curl -fL -o {quote(archive.name)} {quote(address)}\n"
        f"echo {quote(checksum)} | sha256sum --check\n"
    )
