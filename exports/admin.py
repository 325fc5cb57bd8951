"""Releases and how they came to be, to look at: what is published never changes."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline

from exports.models import Build, Download, Release, ReleaseFile
from retrieval.admin import ReadOnlyAdmin


class ReleaseFileInline(TabularInline):  # type: ignore[misc]
    model = ReleaseFile
    fields = ("path", "bytes", "sha256")
    ordering = ("path",)
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReleaseFile]:
        """With what each file is called after."""
        rows: QuerySet[ReleaseFile] = super().get_queryset(request)
        return rows.select_related("release__campaign")

    hide_title = True


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
