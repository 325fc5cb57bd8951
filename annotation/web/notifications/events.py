"""The event log: what happened, who was told, and what they answered."""

import json
from collections.abc import Callable
from functools import wraps
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from annotation.access.audit_log import by_page
from annotation.models import Delivery, DeliveryAttempt, Event
from annotation.notifications.deliver import payload
from annotation.notifications.mail import has_mail_server
from annotation.notifications.webhooks import MANAGE, resend
from annotation.web.base.guards import dashboard_page, permitted, refuse
from annotation.web.base.layout import page
from annotation.web.base.pagination import key_of
from core.errors import UserError

PAGE_SIZE = 50
LACKS = (
    f"Your account lacks the permission {MANAGE}: an administrator can give it to you under Admin."
)
STATES = {
    Delivery.State.PENDING: "waiting",
    Delivery.State.CLAIMED: "being sent",
    Delivery.State.DONE: "delivered",
    Delivery.State.FAILED: "failed",
    Delivery.State.CANCELLED: "cancelled",
}
View = Callable[..., HttpResponse]


def manager_page(view: View) -> View:
    """For those who may say where events are sent, and see all of them."""

    @dashboard_page
    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not permitted(request, MANAGE):
            return refuse(request, 403, "Not open to you", LACKS)
        return view(request, *args, **kwargs)

    return guarded


@require_safe
@manager_page
def events(request: HttpRequest) -> HttpResponse:
    listed = Event.objects.select_related("campaign").prefetch_related("deliveries")
    before = key_of(request.GET.get("before", ""))
    if before:
        listed = listed.filter(pk__lt=before)
    rows = list(listed.order_by("-pk")[: PAGE_SIZE + 1])
    shown = [(one, [delivery.state for delivery in one.deliveries.all()]) for one in rows]
    context = {
        "rows": [(one, _summary(states)) for one, states in shown[:PAGE_SIZE]],
        "older": rows[PAGE_SIZE - 1].pk if len(rows) > PAGE_SIZE else None,
        "is_newest": not before,
        "has_mail_server": has_mail_server(),
    }
    return page(request, "annotation/notifications/events.html", context, title="Events")


def _summary(states: list[str]) -> str:
    """How many deliveries are in which state."""
    counted = [(states.count(state), words) for state, words in STATES.items()]
    return ", ".join(f"{count} {words}" for count, words in counted if count) or "nobody"


@require_safe
@manager_page
def event(request: HttpRequest, pk: int) -> HttpResponse:
    recorded = get_object_or_404(Event.objects.select_related("campaign"), pk=pk)
    newest = Prefetch("tries", DeliveryAttempt.objects.order_by("-pk"))
    deliveries = recorded.deliveries.select_related("webhook", "account").prefetch_related(newest)
    over = (Delivery.State.DONE, Delivery.State.FAILED, Delivery.State.CANCELLED)
    context = {
        "event": recorded,
        "payload": json.dumps(json.loads(payload(recorded)), indent=2, ensure_ascii=False),
        "rows": [
            (one, STATES[Delivery.State(one.state)], one.state in over)
            for one in deliveries.order_by("pk")
        ],
        "has_mail_server": has_mail_server(),
    }
    return page(request, "annotation/notifications/event.html", context, title=recorded.type)


@require_POST
@manager_page
def resend_delivery(request: HttpRequest, pk: int) -> HttpResponse:
    delivery = get_object_or_404(Delivery.objects.select_related("event", "webhook"), pk=pk)
    try:
        resend(delivery, by=by_page(cast(User, request.user)))
    except UserError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "It is sent again with the next run.")
    return redirect("event", delivery.event_id)
