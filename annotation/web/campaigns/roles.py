"""Who has which part in a campaign, and what each part may do."""

from dataclasses import dataclass
from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access.audit_log import by_page
from annotation.access.roles import (
    ADJUDICATE,
    BUILD,
    CHANGE_CONTROLS,
    DOWNLOAD,
    FUND,
    GRANT,
    MANAGE_WORKERS,
    PERMISSIONS,
    RUN,
    VIEW,
    WRITE_INSTRUCTIONS,
)
from annotation.models import Campaign, Role
from annotation.operations.roles import account_called, give_role, take_role
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from core.errors import UserError

WORDS = {
    VIEW: "see every page and figure",
    DOWNLOAD: "download releases",
    ADJUDICATE: "label as an expert",
    RUN: "run it within its budget: publish, pause, extend",
    MANAGE_WORKERS: "exclude, restore, pay, reject and write to workers",
    WRITE_INSTRUCTIONS: "write the instructions for annotators",
    CHANGE_CONTROLS: "add, edit and retire controls",
    BUILD: "build releases",
    FUND: "set the budget, cancel the campaign",
    GRANT: "give and take roles",
}
ANNOTATOR = "take its HITs, where the team works in-house"


@dataclass(frozen=True)
class Line:
    """One permission, and of each role in turn whether it has it."""

    words: str
    held: list[bool]


class GiveForm(forms.Form):
    username = forms.CharField(label="User name", max_length=150)
    role = forms.ChoiceField(label="Role", choices=Role.Name.choices, initial=Role.Name.VIEWER)


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(GRANT)
def campaign_roles(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """A POST gives an account a role, by its user name."""
    if request.method != "POST":
        return _page(request, campaign, GiveForm())
    form = GiveForm(request.POST)
    if not form.is_valid():
        return _page(request, campaign, form, status=422)
    try:
        user = account_called(form.cleaned_data["username"])
        name = form.cleaned_data["role"]
        give_role(campaign, user, name, by=by_page(cast(User, request.user)))
    except UserError as error:
        form.add_error(None, str(error))
        return _page(request, campaign, form, status=422)
    messages.success(request, f"{user} is {name} of {campaign}.")
    return _onwards(request, campaign, user)


@require_POST
@campaign_page(GRANT)
def change_role(request: HttpRequest, campaign: Campaign, pk: int) -> HttpResponse:
    """Another role in place of this one, or none."""
    user = get_object_or_404(campaign.roles.select_related("user"), pk=pk).user
    by = by_page(cast(User, request.user))
    try:
        if "take" in request.POST:
            take_role(campaign, user, by=by)
            messages.info(request, f"{user} has no role in {campaign} any more.")
        else:
            give_role(campaign, user, request.POST.get("role", ""), by=by)
            messages.success(request, f"{user} is {request.POST['role']} of {campaign}.")
    except UserError as error:
        return _page(request, campaign, GiveForm(), fault=str(error), status=422)
    return _onwards(request, campaign, user)


def _onwards(request: HttpRequest, campaign: Campaign, user: User) -> HttpResponse:
    """Who has just given up their own part may have no way back to this page."""
    if user.pk == request.user.pk and not request.user.is_superuser:
        return redirect("dashboard")
    return redirect("campaign-roles", campaign.name)


def _page(
    request: HttpRequest,
    campaign: Campaign,
    form: GiveForm,
    *,
    fault: str = "",
    status: int = 200,
) -> HttpResponse:
    everywhere = Role.objects.filter(campaign=None).select_related("user")
    context = {
        "form": form,
        "fault": fault,
        "roles": campaign.roles.select_related("user").order_by("user__username"),
        "everywhere": everywhere.order_by("user__username"),
        "names": Role.Name.choices,
        "lines": _lines(),
    }
    title = "Roles"
    return page(
        request,
        "annotation/campaigns/roles.html",
        context,
        title=title,
        campaign=campaign,
        status=status,
    )


def _lines() -> list[Line]:
    names = Role.Name.values
    lines = [
        Line(words, [may in PERMISSIONS[name] for name in names]) for may, words in WORDS.items()
    ]
    return [*lines, Line(ANNOTATOR, [name == Role.Name.ANNOTATOR for name in names])]
