"""One control: its texts, and its change or retirement by people who may."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access.audit_log import by_page
from annotation.access.roles import CHANGE_CONTROLS, visible_campaigns
from annotation.models import Campaign, Control, Hit
from annotation.operations.controls import replace_control, retire_control, texts_of
from annotation.pipeline.controls.controls import MOST_CHARACTERS, Texts
from annotation.web.base.guards import campaign_page, dashboard_page, refuse
from annotation.web.base.layout import page
from core.errors import UserError

LACKS = (
    "The pool is shared by all campaigns: changing it takes the permission {}, which an "
    "administrator can give to your account."
)

MOST_HITS = 10


class ControlForm(forms.Form):
    query = forms.CharField(max_length=MOST_CHARACTERS, widget=forms.Textarea({"rows": 2}))
    question = forms.CharField(max_length=MOST_CHARACTERS, widget=forms.Textarea({"rows": 2}))
    answer = forms.CharField(max_length=MOST_CHARACTERS, widget=forms.Textarea({"rows": 4}))

    @property
    def texts(self) -> Texts:
        return Texts(**self.cleaned_data)


@require_safe
@dashboard_page
def pool_control(request: HttpRequest, pk: int) -> HttpResponse:
    """Its form leads to the operations of the pool."""
    control = get_object_or_404(Control, pk=pk, campaign=None)
    may = request.user.has_perm(CHANGE_CONTROLS)
    form = ControlForm(initial=texts_of(control)._asdict())
    return _page(request, control, form, None, reverse("controls"), may=may)


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page()
def campaign_control(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """A negative one."""
    control = get_object_or_404(Control, pk=pk, campaign=campaign)
    back = reverse("campaign-controls", args=[campaign.name])
    return _control(request, control, campaign, back=back)


def _control(
    request: HttpRequest, control: Control, campaign: Campaign, *, back: str
) -> HttpResponse:
    may_change = request.user.has_perm(CHANGE_CONTROLS, campaign)
    form = ControlForm(request.POST or None, initial=texts_of(control)._asdict())
    if request.method == "POST":
        if not may_change:
            return lacks(request)
        if "retire" in request.POST or form.is_valid():
            try:
                words = _change(request, control, form)
            except UserError as error:
                return _page(request, control, form, campaign, back, fault=str(error), may=True)
            messages.success(request, words)
            return redirect(back)
    return _page(request, control, form, campaign, back, may=may_change)


def _change(request: HttpRequest, control: Control, form: ControlForm) -> str:
    by = by_page(cast(User, request.user))
    if "retire" in request.POST:
        retire_control(by, control)
        return "The control is retired. New HITs do not contain it."
    replace_control(by, control, form.texts)
    return "The control is replaced. New HITs contain the new one."


def _page(
    request: HttpRequest,
    control: Control,
    form: ControlForm,
    campaign: Campaign | None,
    back: str,
    *,
    may: bool,
    fault: str = "",
) -> HttpResponse:
    context: dict[str, Any] = {
        "control": control,
        "form": form if may and not control.retired_at else None,
        "back": back,
        "fault": fault,
        "hits": _hits(request, control),
        "may_change": may,
    }
    title = f"{control.get_kind_display()} control"
    faulty = fault or (form.is_bound and form.errors)
    return page(
        request,
        "annotation/controls/control.html",
        context,
        title=title,
        campaign=campaign,
        status=422 if faulty else 200,
    )


def _hits(request: HttpRequest, control: Control) -> list[Hit]:
    """The first of those that hold it, of the campaigns that the reader sees."""
    seen = control.items.filter(hit__campaign__in=visible_campaigns(request.user))
    items = seen.select_related("hit__campaign").order_by("pk")
    return [item.hit for item in items[:MOST_HITS]]


def lacks(request: HttpRequest) -> HttpResponse:
    return refuse(request, 403, "Your role does not allow it", LACKS.format(CHANGE_CONTROLS))
