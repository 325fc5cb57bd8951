"""Releases and how they came to be, to look at: what is published never changes."""

from django.contrib import admin

from exports.models import Build, Download, Release, ReleaseFile
from retrieval.admin import ReadOnlyAdmin


class ReleaseFileInline(admin.TabularInline):  # type: ignore[type-arg]
    model = ReleaseFile
    fields = ("path", "bytes", "sha256")
    ordering = ("path",)
    extra = 0


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "number", "created_at", "created_by", "manifest_sha256")
    list_select_related = ("campaign",)
    list_filter = ("campaign",)
    search_fields = ("campaign__name", "manifest_sha256")
    inlines = (ReleaseFileInline,)


@admin.register(Build)
class BuildAdmin(ReadOnlyAdmin):
    list_display = (
        "campaign",
        "state",
        "stage",
        "done",
        "release",
        "unchanged",
        "requested_at",
        "requested_by",
        "attempts",
        "error",
    )
    list_select_related = ("campaign", "release__campaign")
    list_filter = ("state", "campaign")


@admin.register(Download)
class DownloadAdmin(ReadOnlyAdmin):
    list_display = ("at", "file", "user")
    list_select_related = ("file__release__campaign", "user")
    list_filter = ("file__release__campaign",)
    search_fields = ("file__path", "user__username")
