"""Webhooks: where events are sent, and the secret that signs them, shown once."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access.audit_log import by_page
from annotation.models import Event, Webhook
from annotation.models.event import OFFERED_TYPES
from annotation.notifications.addresses import MOST_URL
from annotation.notifications.webhooks import (
    add_webhook,
    disable_webhook,
    enable_webhook,
    rotate_secret,
)
from annotation.web.base.layout import page
from annotation.web.notifications.events import manager_page
from core.errors import UserError


class WebhookForm(forms.Form):
    url = forms.CharField(label="Address", max_length=MOST_URL)
    types = forms.MultipleChoiceField(
        label="Events",
        choices=OFFERED_TYPES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="If none is selected, all events are sent.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@manager_page
def webhooks(request: HttpRequest) -> HttpResponse:
    """A POST adds one; its secret is in the answer."""
    if request.method != "POST":
        return _page(request, WebhookForm())
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        made = add_webhook(**form.cleaned_data, by=by_page(cast(User, request.user)))
    except UserError as error:
        form.add_error("url", str(error))
        return _page(request, form, status=422)
    return _page(request, WebhookForm(), secret=made.secret)


@require_POST
@manager_page
def change_webhook(request: HttpRequest, pk: int, verb: str) -> HttpResponse:
    webhook = get_object_or_404(Webhook, pk=pk)
    by = by_page(cast(User, request.user))
    if verb == "rotate" and not webhook.requester_id:
        return _page(request, WebhookForm(), secret=rotate_secret(webhook, by=by))
    if verb == "enable":
        enable_webhook(webhook, by=by)
        messages.success(request, "Events are sent there again.")
    else:
        disable_webhook(webhook, by=by)
        messages.info(request, "Nothing more is sent there.")
    return redirect("webhooks")


def _page(
    request: HttpRequest, form: WebhookForm, *, secret: str = "", status: int = 200
) -> HttpResponse:
    words = dict(Event.Type.choices)
    rows = [(one, [words[type] for type in one.types]) for one in Webhook.objects.order_by("-pk")]
    context = {"form": form, "secret": secret, "rows": rows}
    template = "annotation/notifications/webhooks.html"
    return page(request, template, context, title="Webhooks", status=status)
