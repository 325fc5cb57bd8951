"""The log of what people did to money, votes and people."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.roles import entries_seen_by
from annotation.api.base.access import user_of
from annotation.api.base.filters import parameters, read_filter
from annotation.models import AuditEntry
from annotation.web.base.filters import LogFilter, Text
from core.rest.openapi import operation
from core.rest.pagination import NewestPages, page


class AuditEntryRow(serializers.Serializer[AuditEntry]):
    id = serializers.IntegerField(source="pk")
    at = serializers.DateTimeField()
    actor = serializers.CharField(help_text="the account's name at that time")
    via = serializers.ChoiceField(choices=AuditEntry.Via.choices)
    verb = serializers.CharField()
    campaign = serializers.SerializerMethodField(help_text="null: the entry belongs to no campaign")
    subject = serializers.CharField(help_text="the person or thing that the action concerns")
    details = serializers.DictField()

    def get_campaign(self, entry: AuditEntry) -> str | None:
        return entry.campaign.name if entry.campaign else None


class EntryFilter(LogFilter):
    campaign = Text(max_length=60, by="campaign__name")


class Log(APIView):
    pagination_class = NewestPages

    @operation(
        "log_list",
        "List the audit log, newest first",
        tag="log",
        description="Lists entries of the campaigns whose votes you can see. "
        "Only staff see entries without a campaign.",
        parameters=parameters(EntryFilter),
        answers={200: AuditEntryRow(many=True)},
        example={
            "id": 12,
            "at": "2026-11-22T10:00:00Z",
            "actor": "ada",
            "via": "api",
            "verb": "budget",
            "campaign": "faq",
            "subject": "",
            "details": {"amount": "120.00", "budget_cents": 12_000},
        },
    )
    def get(self, request: Request) -> Response:
        entries = entries_seen_by(user_of(request)).select_related("campaign")
        filtered = read_filter(request, EntryFilter, entries)
        return page(self, filtered, AuditEntryRow, pages=NewestPages)
