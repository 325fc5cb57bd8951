from django.contrib import admin

from retrieval.models import Candidate, IndexVersion, QaPair, Query, QuerySet


@admin.register(QaPair)
class QaPairAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("question", "source", "source_id", "license")
    list_filter = ("source",)
    search_fields = ("question", "source_id")
    readonly_fields = ("question_key", "pair_key", "created_at")
    # The exact total of millions of rows costs more than the page.
    show_full_result_count = False


@admin.register(IndexVersion)
class IndexVersionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("model", "form", "pairs", "dimension", "path", "created_at", "chosen_at")
    list_filter = ("form",)


@admin.register(QuerySet)
class QuerySetAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("name", "origin", "seed", "duplicates", "retrieved_with", "created_at")
    list_select_related = ("retrieved_with",)
    search_fields = ("name",)


@admin.register(Query)
class QueryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("key", "text", "query_set", "position")
    list_filter = ("query_set",)
    list_select_related = ("query_set",)
    search_fields = ("key", "text")


@admin.register(Candidate)
class CandidateAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("query", "rank", "score", "pair")
    list_filter = ("query__query_set",)
    list_select_related = ("query", "pair")
    raw_id_fields = ("query", "pair")
    search_fields = ("query__key", "query__text")
    show_full_result_count = False
