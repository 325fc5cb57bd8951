"""The records, to look at. What votes or money hang on is changed by the pipeline alone."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline

import annotation.admin.accounts  # noqa: F401 - registers accounts, groups and roles
from annotation.models import (
    Account,
    Assignment,
    Behaviour,
    Campaign,
    Control,
    Entry,
    Exclusion,
    ExpertLabel,
    Hit,
    HitItem,
    Instructions,
    ItemReport,
    Judgment,
    OutboxMessage,
    QualificationItem,
    QualificationResult,
    Triplet,
    Worker,
)
from annotation.protocol.policy.crowds import CROWDS
from retrieval.admin import ReadOnlyAdmin


@admin.register(Campaign)
class CampaignAdmin(ReadOnlyAdmin):
    list_display = ("name", "state", "query_set", "endpoint", "created_at")
    list_select_related = ("query_set",)
    search_fields = ("name",)


@admin.register(Instructions)
class InstructionsAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "version", "author", "created_at")
    list_select_related = ("campaign",)
    list_filter = ("campaign",)


@admin.register(QualificationItem)
class QualificationItemAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "position", "query", "question", "expected")
    list_select_related = ("campaign",)
    list_filter = ("campaign", ("expected", admin.BooleanFieldListFilter))
    search_fields = ("query", "question")


@admin.register(QualificationResult)
class QualificationResultAdmin(ReadOnlyAdmin):
    list_display = ("worker", "campaign", "correct", "items", "passed", "created_at")
    list_select_related = ("worker", "campaign")
    list_filter = ("campaign", "passed")
    search_fields = ("worker__worker_id",)


@admin.register(Control)
class ControlAdmin(ReadOnlyAdmin):
    """The pool is searched on its own page; of a campaign's negative ones there are too many."""

    list_display = ("key", "kind", "campaign", "query", "question")
    list_select_related = ("campaign",)
    list_filter = ("kind", "campaign")


@admin.register(Triplet)
class TripletAdmin(ReadOnlyAdmin):
    """Searched on the campaign's own page, which looks through so many at a time."""

    list_display = ("id", "campaign", "candidate", "status", "label", "votes", "positive_votes")
    list_select_related = ("campaign", "candidate")
    list_filter = ("campaign", "status", ("label", admin.BooleanFieldListFilter))


class HitItemInline(TabularInline):  # type: ignore[misc]
    model = HitItem
    fields = readonly_fields = ("position", "key", "triplet", "control")
    ordering = ("position",)
    extra = 0
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[HitItem]:
        rows: QuerySet[HitItem] = super().get_queryset(request)
        return rows.select_related("triplet", "control")


@admin.register(Hit)
class HitAdmin(ReadOnlyAdmin):
    list_display = ("key", "campaign", "number", "max_assignments", "crowd_id", "published_at")
    list_select_related = ("campaign",)
    list_filter = ("campaign",)
    search_fields = ("key__exact", "crowd_id__exact")
    inlines = (HitItemInline,)


class CrowdFilter(admin.SimpleListFilter):
    """The crowds there are, without a look at the workers."""

    title = "crowd"
    parameter_name = "crowd"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(one, one) for one in CROWDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Worker]) -> QuerySet[Worker]:
        return queryset.filter(crowd=self.value()) if self.value() else queryset


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("worker_id", "crowd")
    list_filter = (CrowdFilter,)
    search_fields = ("worker_id",)


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = ("crowd_id", "hit", "worker", "status", "passed", "submitted_at")
    list_select_related = ("hit", "worker")
    list_filter = ("status", "passed")
    search_fields = ("crowd_id__exact",)


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin):
    list_display = ("id", "item", "worker", "value")
    list_select_related = ("item", "worker")
    search_fields = ("item__key__exact",)


@admin.register(Behaviour)
class BehaviourAdmin(ReadOnlyAdmin):
    list_display = ("assignment", "active_ms", "changes", "straight")
    list_select_related = ("assignment",)
    list_filter = ("straight",)
    search_fields = ("assignment__crowd_id__exact",)


@admin.register(ItemReport)
class ItemReportAdmin(ReadOnlyAdmin):
    list_display = ("item", "reason", "cannot_judge", "text", "assignment")
    list_select_related = ("item", "assignment")
    list_filter = ("reason", "cannot_judge")
    search_fields = ("text",)


@admin.register(Exclusion)
class ExclusionAdmin(ReadOnlyAdmin):
    list_display = ("worker", "campaign", "failures", "reviewed", "created_at", "restored_at")
    list_select_related = ("campaign", "worker")
    list_filter = ("campaign",)
    search_fields = ("worker__worker_id",)


@admin.register(ExpertLabel)
class ExpertLabelAdmin(ReadOnlyAdmin):
    list_display = ("triplet", "expert", "label", "source", "created_at")
    list_select_related = ("triplet",)
    list_filter = ("source", ("label", admin.BooleanFieldListFilter))
    search_fields = ("expert__exact", "note")


@admin.register(OutboxMessage)
class OutboxMessageAdmin(ReadOnlyAdmin):
    list_display = ("token", "campaign", "kind", "state", "attempts", "retry_at", "error")
    list_select_related = ("campaign",)
    list_filter = ("campaign", "kind", "state")
    search_fields = ("token__exact",)


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    list_display = (
        "campaign",
        "budget_cents",
        "reserved_cents",
        "paid_cents",
        "discarded_cents",
        "billed_cents",
        "available_cents",
    )
    list_select_related = ("campaign",)
    search_fields = ("campaign__name",)


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "account", "source", "target", "cents", "hit", "assignment", "key")
    list_select_related = ("account__campaign", "hit", "assignment")
    list_filter = ("account__campaign", "source", "target")
    search_fields = ("key__exact",)
