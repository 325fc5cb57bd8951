"""Releases as lists show them: a fixed number of queries, however many there are."""

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from exports.layout.files import ARCHIVE_SUFFIX
from exports.models import Download, Release, ReleaseFile


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
