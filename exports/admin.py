"""Releases and how they came to be, to look at: what is published never changes."""

from django.contrib import admin
from django.db.models import Count, Sum
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from exports.models import Build, Download, Release
from retrieval.admin import ReadOnlyAdmin


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "number", "created_at", "created_by", "manifest_sha256")
    list_select_related = ("campaign",)
    list_filter = ("campaign",)
    search_fields = ("campaign__name", "manifest_sha256")
    # Its statistics, changes and files stand on its own page.
    fields = (
        "page",
        "prefix",
        "options",
        "manifest_sha256",
        "created_at",
        "created_by",
        "files_in_all",
    )
    readonly_fields = ("page", "files_in_all")

    @admin.display(description="release")
    def page(self, release: Release) -> SafeString:
        address = reverse("release", args=[release.campaign.name, release.number])
        return format_html('<a href="{}">{}</a>', address, release)

    @admin.display(description="files")
    def files_in_all(self, release: Release) -> str:
        sums = release.files.aggregate(files=Count("pk"), bytes=Sum("bytes", default=0))
        return f"{sums['files']:,}, {filesizeformat(sums['bytes'])}"


@admin.register(Build)
class BuildAdmin(ReadOnlyAdmin):
    list_display = (
        "subject",
        "state",
        "stage",
        "requested_at",
        "requested_by",
        "attempts",
        "error",
    )
    list_select_related = ("requested_by",)
    list_filter = ("state",)


@admin.register(Download)
class DownloadAdmin(ReadOnlyAdmin):
    list_display = ("at", "file", "user")
    list_select_related = ("file__release__campaign", "user")
    list_filter = ("file__release__campaign",)
    search_fields = ("file__path", "user__username")
