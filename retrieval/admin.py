from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold import paginator
from unfold.admin import ModelAdmin

from retrieval.jobs.count_sources import newest_figures
from retrieval.models import Candidate, IndexVersion, QaPair, Query, QuerySet, TrainedModel

LAST_PAGE = 20
Pairs = models.QuerySet[QaPair]


class InfinitePaginator(paginator.InfinitePaginator):  # type: ignore[misc]
    """What lies far in, a filter finds: a page's offset is read row by row.

    The theme knows by the name of its class that it has counted nothing.
    """

    @cached_property
    def count(self) -> int:
        return LAST_PAGE * int(self.per_page)


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]
    """Nothing can be added, changed or deleted: rows are computed from one another.

    The tables are long, so they are never counted, and read from their beginning alone.
    """

    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class SourceFilter(admin.SimpleListFilter):
    """The sources as they were counted last: the pairs themselves are too many to ask."""

    title = "source"
    parameter_name = "source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        kept = newest_figures()
        return [(one.source, one.source) for one in kept.sources] if kept else []

    def queryset(self, request: HttpRequest, queryset: Pairs) -> Pairs:
        return queryset.filter(source=self.value()) if self.value() else queryset


@admin.register(QaPair)
class QaPairAdmin(ReadOnlyAdmin):
    """Searched by words and by ids on the database's own page, which has an index for it."""

    list_display = ("question", "source", "source_id", "license", "withdrawn_at")
    list_filter = (SourceFilter, ("withdrawn_at", admin.EmptyFieldListFilter))


@admin.register(IndexVersion)
class IndexVersionAdmin(ReadOnlyAdmin):
    list_display = (
        "model", "trained", "form", "kind", "pairs", "dimension", "recall", "path", "created_at",
        "chosen_at",
    )  # fmt: skip
    list_filter = ("form", "kind")
    list_select_related = ("trained",)


@admin.register(TrainedModel)
class TrainedModelAdmin(ReadOnlyAdmin):
    list_display = (
        "name", "kind", "form", "base", "release", "threshold", "sha256", "created_at",
    )  # fmt: skip
    list_filter = ("kind",)


@admin.register(QuerySet)
class QuerySetAdmin(ReadOnlyAdmin):
    list_display = ("name", "origin", "seed", "duplicates", "retrieved_with", "created_at")
    list_select_related = ("retrieved_with__trained",)
    search_fields = ("name",)


@admin.register(Query)
class QueryAdmin(ReadOnlyAdmin):
    list_display = ("key", "text", "query_set", "position")
    list_filter = ("query_set",)
    list_select_related = ("query_set",)
    search_fields = ("key__exact",)
    search_help_text = "The whole key of a query; its words are searched on the campaign's own page"

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Query], search_term: str
    ) -> tuple[models.QuerySet[Query], bool]:
        """One look at the index for each set, within which a key is unique."""
        if not search_term:
            return queryset, False
        sets = list(QuerySet.objects.values_list("pk", flat=True))
        return queryset.filter(query_set__in=sets, key=search_term.strip()), False


@admin.register(Candidate)
class CandidateAdmin(ReadOnlyAdmin):
    list_display = ("query", "rank", "score", "pair")
    list_filter = ("query__query_set",)
    list_select_related = ("query", "pair")
