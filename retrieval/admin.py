from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from retrieval.models import Candidate, IndexVersion, QaPair, Query, QuerySet


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Nothing can be added, changed or deleted: rows are computed from one another.

    The tables are long, so they are never counted.
    """

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


@admin.register(QaPair)
class QaPairAdmin(ReadOnlyAdmin):
    list_display = ("question", "source", "source_id", "license", "withdrawn_at")
    list_filter = ("source", ("withdrawn_at", admin.EmptyFieldListFilter))
    search_fields = ("question", "source_id")


@admin.register(IndexVersion)
class IndexVersionAdmin(ReadOnlyAdmin):
    list_display = (
        "model", "form", "kind", "pairs", "dimension", "recall", "path", "created_at", "chosen_at",
    )  # fmt: skip
    list_filter = ("form", "kind")


@admin.register(QuerySet)
class QuerySetAdmin(ReadOnlyAdmin):
    list_display = ("name", "origin", "seed", "duplicates", "retrieved_with", "created_at")
    list_select_related = ("retrieved_with",)
    search_fields = ("name",)


@admin.register(Query)
class QueryAdmin(ReadOnlyAdmin):
    list_display = ("key", "text", "query_set", "position")
    list_filter = ("query_set",)
    list_select_related = ("query_set",)
    search_fields = ("key", "text")


@admin.register(Candidate)
class CandidateAdmin(ReadOnlyAdmin):
    list_display = ("query", "rank", "score", "pair")
    list_filter = ("query__query_set",)
    list_select_related = ("query", "pair")
    search_fields = ("query__key", "query__text")
