"""Webhooks, and the events that are sent to them."""

from typing import Any

from django.db.models import Prefetch, QuerySet
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access.audit_log import Actor, by_api
from annotation.api.base.access import require, user_of
from annotation.models import Delivery, DeliveryAttempt, Event, Webhook
from annotation.models.event import OFFERED_TYPES
from annotation.notifications.addresses import MOST_URL
from annotation.notifications.webhooks import (
    MANAGE,
    add_webhook,
    disable_webhook,
    enable_webhook,
    resend,
    rotate_secret,
)
from core.rest.fields import Text
from core.rest.openapi import operation
from core.rest.pagination import KeyPages, NewestPages, page
from core.rest.parsing import body

TAG = "notifications"
TAKES = f"Requires the permission `{MANAGE}`."


class WebhookRow(serializers.Serializer[Webhook]):
    id = serializers.IntegerField(source="pk")
    url = serializers.CharField()
    types = serializers.ListField(
        child=serializers.ChoiceField(choices=Event.Type.choices),
        help_text="kinds of event to send; empty: every kind",
    )
    active = serializers.BooleanField()
    fault = serializers.CharField(
        help_text="why Quorum disabled the endpoint; empty: it is enabled"
    )
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()


class NewWebhook(WebhookRow):
    secret = serializers.CharField(help_text="the signing secret; shown once")


class WebhookWanted(serializers.Serializer[dict[str, Any]]):
    url = Text(max_length=MOST_URL, help_text="an https URL at a public address")
    types = serializers.ListField(
        child=serializers.ChoiceField(choices=OFFERED_TYPES),
        default=list,
        max_length=len(OFFERED_TYPES),
        help_text="kinds of event to send; empty: every kind",
    )


class TryRow(serializers.Serializer[DeliveryAttempt]):
    at = serializers.DateTimeField()
    status = serializers.IntegerField(
        allow_null=True, help_text="HTTP status of the response; null: there was none"
    )
    error = serializers.CharField()


class DeliveryRow(serializers.Serializer[Delivery]):
    id = serializers.IntegerField(source="pk")
    webhook = serializers.IntegerField(source="webhook_id", allow_null=True)
    account = serializers.CharField(
        source="account.username", default=None, allow_null=True, help_text="the e-mail's recipient"
    )
    state = serializers.ChoiceField(choices=Delivery.State.choices)
    retry_at = serializers.DateTimeField(allow_null=True)
    tries = TryRow(many=True)


class EventRow(serializers.Serializer[Event]):
    id = serializers.IntegerField(source="pk")
    message_id = serializers.CharField(help_text="the header `webhook-id`")
    type = serializers.ChoiceField(choices=Event.Type.choices)
    at = serializers.DateTimeField()
    data = serializers.DictField()  # type: ignore[assignment]


class EventWithDeliveries(EventRow):
    deliveries = DeliveryRow(many=True)


ROW = {
    "id": 3,
    "url": "https://example.org/quorum",
    "types": ["release.ready"],
    "active": True,
    "fault": "",
    "created_at": "2026-11-22T10:00:00Z",
    "created_by": "ada",
}
SECRET = {**ROW, "secret": "whsec_…"}
EVENT = {
    "id": 12,
    "message_id": "evt_0123456789abcdef0123456789abcdef",
    "type": "release.ready",
    "at": "2026-11-22T10:00:00Z",
    "data": {"campaign": "faq", "release": 1},
}
TRY = {"at": "2026-11-22T10:00:05Z", "status": 204, "error": ""}
DELIVERY = {
    "id": 30, "webhook": 3, "account": None, "state": "done", "retry_at": None, "tries": [TRY],
}  # fmt: skip


def _manager(request: Request) -> Actor:
    require(request, MANAGE)
    return by_api(user_of(request))


class Webhooks(APIView):
    pagination_class = KeyPages

    @operation(
        "webhook_list",
        "List webhook endpoints",
        tag=TAG,
        description=TAKES,
        answers={200: WebhookRow(many=True)},
        example=ROW,
    )
    def get(self, request: Request) -> Response:
        _manager(request)
        return page(self, Webhook.objects.all(), WebhookRow)

    @operation(
        "webhook_create",
        "Add a webhook endpoint",
        tag=TAG,
        description="The answer alone has the secret. An address is taken once: sent again it is "
        f"refused, and no key is needed. {TAKES}",
        request=WebhookWanted,
        sent={"url": "https://example.org/quorum", "types": ["release.ready"]},
        answers={201: NewWebhook},
        example=SECRET,
        refusals=[422],
    )
    def post(self, request: Request) -> Response:
        by = _manager(request)
        wanted = body(request, WebhookWanted)
        return Response(NewWebhook(add_webhook(**wanted, by=by)).data, status=201)


class RotateSecret(APIView):
    @operation(
        "webhook_rotate",
        "Rotate an endpoint's secret; the old one also signs for 24 hours",
        tag=TAG,
        description=TAKES,
        answers={200: NewWebhook},
        example=SECRET,
        refusals=[404],
    )
    def post(self, request: Request, pk: int) -> Response:
        by = _manager(request)
        webhook = get_object_or_404(Webhook, pk=pk, requester=None)
        rotate_secret(webhook, by=by)
        return Response(NewWebhook(webhook).data)


class EnableWebhook(APIView):
    @operation(
        "webhook_enable",
        "Enable a webhook endpoint again",
        tag=TAG,
        description=TAKES,
        answers={200: WebhookRow},
        example=ROW,
        refusals=[404],
    )
    def post(self, request: Request, pk: int) -> Response:
        by = _manager(request)
        webhook = get_object_or_404(Webhook, pk=pk)
        enable_webhook(webhook, by=by)
        webhook.refresh_from_db()
        return Response(WebhookRow(webhook).data)


class DisableWebhook(APIView):
    @operation(
        "webhook_disable",
        "Delete a webhook endpoint and cancel what waits for it",
        tag=TAG,
        description=TAKES,
        answers={200: WebhookRow},
        example={**ROW, "active": False},
        refusals=[404],
    )
    def post(self, request: Request, pk: int) -> Response:
        by = _manager(request)
        webhook = get_object_or_404(Webhook, pk=pk)
        disable_webhook(webhook, by=by)
        webhook.refresh_from_db()
        return Response(WebhookRow(webhook).data)


class Events(APIView):
    pagination_class = NewestPages

    @operation(
        "event_list",
        "List events, newest first",
        tag=TAG,
        description=TAKES,
        answers={200: EventRow(many=True)},
        example=EVENT,
    )
    def get(self, request: Request) -> Response:
        _manager(request)
        return page(self, Event.objects.all(), EventRow, pages=NewestPages)


class OneEvent(APIView):
    @operation(
        "event_read",
        "Show an event, its deliveries, and each attempt",
        tag=TAG,
        description=TAKES,
        answers={200: EventWithDeliveries},
        example={**EVENT, "deliveries": [DELIVERY]},
        refusals=[404],
    )
    def get(self, request: Request, pk: int) -> Response:
        _manager(request)
        events = Event.objects.prefetch_related(Prefetch("deliveries", _deliveries()))
        return Response(EventWithDeliveries(get_object_or_404(events, pk=pk)).data)


class ResendDelivery(APIView):
    @operation(
        "delivery_resend",
        "Send a delivered, failed, or cancelled event again",
        tag=TAG,
        description=f"While it is still being sent it is refused. {TAKES}",
        answers={200: DeliveryRow},
        example={**DELIVERY, "state": "pending"},
        refusals=[404, 422],
    )
    def post(self, request: Request, pk: int) -> Response:
        by = _manager(request)
        delivery = get_object_or_404(_deliveries().select_related("event"), pk=pk)
        resend(delivery, by=by)
        delivery.refresh_from_db(fields=["state", "attempts", "retry_at"])
        return Response(DeliveryRow(delivery).data)


def _deliveries() -> QuerySet[Delivery]:
    tries = Prefetch("tries", DeliveryAttempt.objects.order_by("pk"))
    deliveries = Delivery.objects.select_related("webhook", "account").prefetch_related(tries)
    return deliveries.order_by("pk")
