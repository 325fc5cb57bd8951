"""The in-house crowd's record, to look at."""

from django.contrib import admin

from annotation.crowd.inhouse.models import (
    Assignment,
    Block,
    Bonus,
    Grant,
    Invitation,
    Member,
    Notice,
    PostedHit,
    Queue,
)
from retrieval.admin import ReadOnlyAdmin


@admin.register(Member)
class MemberAdmin(ReadOnlyAdmin):
    list_display = ("worker_id", "user", "active", "joined_at")
    list_select_related = ("user",)
    list_filter = ("active",)
    search_fields = ("worker_id", "user__username")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("note", "created_by", "created_at", "expires_at", "uses", "max_uses")
    list_select_related = ("created_by",)
    exclude = ("digest",)


@admin.register(Grant)
class GrantAdmin(ReadOnlyAdmin):
    list_display = ("member", "qualification", "value")
    list_select_related = ("member", "qualification")
    search_fields = ("member__worker_id", "qualification__name")


@admin.register(Block)
class BlockAdmin(ReadOnlyAdmin):
    list_display = ("member", "reason")
    list_select_related = ("member",)


@admin.register(Queue)
class QueueAdmin(ReadOnlyAdmin):
    list_display = ("title", "reward_cents", "assignment_seconds", "exclusion", "qualified")
    list_select_related = ("exclusion", "qualified")


@admin.register(PostedHit)
class PostedHitAdmin(ReadOnlyAdmin):
    list_display = (
        "hit_id",
        "annotation",
        "queue",
        "max_assignments",
        "open_assignments",
        "expires_at",
    )
    list_select_related = ("queue",)
    list_filter = ("is_open",)
    search_fields = ("hit_id", "annotation")


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = (
        "assignment_id",
        "posted_hit",
        "member",
        "status",
        "accepted_at",
        "submitted_at",
    )
    list_select_related = ("posted_hit", "member")
    list_filter = ("status",)
    search_fields = ("assignment_id", "posted_hit__annotation", "member__worker_id")


@admin.register(Bonus)
class BonusAdmin(ReadOnlyAdmin):
    list_display = ("assignment", "cents", "reason", "given_at")
    list_select_related = ("assignment",)
    search_fields = ("assignment__assignment_id",)


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    list_display = ("member", "subject", "sent_at")
    list_select_related = ("member",)
    search_fields = ("member__worker_id",)
