"""The records, to look at. What votes or money hang on is changed by the pipeline alone."""

from django.contrib import admin

from annotation.models import (
    Account,
    Assignment,
    Campaign,
    Control,
    Entry,
    Exclusion,
    ExpertLabel,
    Hit,
    HitItem,
    Instructions,
    Intent,
    ItemReport,
    Judgment,
    Observation,
    PracticeItem,
    PracticeResult,
    Triplet,
    Worker,
)
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


@admin.register(PracticeItem)
class PracticeItemAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "position", "query", "question", "expected")
    list_select_related = ("campaign",)
    list_filter = ("campaign", "expected")
    search_fields = ("query", "question")


@admin.register(PracticeResult)
class PracticeResultAdmin(ReadOnlyAdmin):
    list_display = ("worker", "campaign", "correct", "items", "passed", "created_at")
    list_select_related = ("worker", "campaign")
    list_filter = ("campaign", "passed")
    search_fields = ("worker__worker_id",)


@admin.register(Control)
class ControlAdmin(ReadOnlyAdmin):
    list_display = ("key", "kind", "campaign", "query", "question")
    list_select_related = ("campaign",)
    list_filter = ("kind", "campaign")
    search_fields = ("key", "query", "question")


@admin.register(Triplet)
class TripletAdmin(ReadOnlyAdmin):
    list_display = ("id", "campaign", "candidate", "status", "label", "votes", "positive_votes")
    list_select_related = ("campaign", "candidate")
    list_filter = ("campaign", "status", "label")
    search_fields = ("candidate__query__text", "candidate__pair__question")


class HitItemInline(admin.TabularInline):  # type: ignore[type-arg]
    model = HitItem
    fields = ("position", "key", "triplet", "control")
    ordering = ("position",)
    extra = 0


@admin.register(Hit)
class HitAdmin(ReadOnlyAdmin):
    list_display = ("key", "campaign", "number", "places", "crowd_id", "published_at")
    list_select_related = ("campaign",)
    list_filter = ("campaign",)
    search_fields = ("key", "crowd_id")
    inlines = (HitItemInline,)


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("worker_id", "crowd")
    list_filter = ("crowd",)
    search_fields = ("worker_id",)


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = ("crowd_id", "hit", "worker", "status", "passed", "submitted_at")
    list_select_related = ("hit", "worker")
    list_filter = ("status", "passed", "hit__campaign")
    search_fields = ("crowd_id", "hit__key", "worker__worker_id")


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin):
    list_display = ("id", "item", "worker", "value")
    list_select_related = ("item", "worker")
    search_fields = ("item__key", "worker__worker_id")


@admin.register(Observation)
class ObservationAdmin(ReadOnlyAdmin):
    list_display = ("assignment", "active_ms", "changes", "straight")
    list_select_related = ("assignment",)
    list_filter = ("straight", "assignment__hit__campaign")
    search_fields = ("assignment__crowd_id", "assignment__worker__worker_id")


@admin.register(ItemReport)
class ItemReportAdmin(ReadOnlyAdmin):
    list_display = ("item", "reason", "text", "assignment")
    list_select_related = ("item", "assignment")
    list_filter = ("reason", "assignment__hit__campaign")
    search_fields = ("text", "item__key", "assignment__crowd_id")


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
    list_filter = ("source", "label", "triplet__campaign")
    search_fields = ("expert", "triplet__candidate__query__text", "note")


@admin.register(Intent)
class IntentAdmin(ReadOnlyAdmin):
    list_display = ("token", "campaign", "kind", "state", "attempts", "retry_at", "error")
    list_select_related = ("campaign",)
    list_filter = ("campaign", "kind", "state")
    search_fields = ("token", "hit__key", "assignment__crowd_id", "worker__worker_id")


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    list_display = (
        "campaign",
        "budget_cents",
        "reserved_cents",
        "paid_cents",
        "discarded_cents",
        "available_cents",
    )
    list_select_related = ("campaign",)
    search_fields = ("campaign__name",)


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "account", "source", "target", "cents", "hit", "assignment", "key")
    list_select_related = ("account__campaign", "hit", "assignment")
    list_filter = ("account__campaign", "source", "target")
    search_fields = ("key", "hit__key", "assignment__crowd_id")
