"""Who has which part in a campaign, and what each part may do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

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
    SEE_VOTES,
    VIEW,
    WRITE_INSTRUCTIONS,
)
from annotation.models import Campaign, Role
from annotation.operations.operation import Options, perform
from annotation.operations.registry import OPERATIONS
from annotation.protocol.estimates.cost import is_free
from annotation.web.base.guards import campaign_page
from annotation.web.base.layout import page
from annotation.web.campaigns.operation import OperationForm
from core.errors import UserError

GIVE, TAKE = OPERATIONS["give-role"], OPERATIONS["take-role"]
WORDS = {
    VIEW: "see the campaign and its figures",
    SEE_VOTES: "see votes and labels, and who gave them",
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
WORDS_WITHOUT_MONEY = WORDS | {
    RUN: "run it: publish, pause, extend",
    MANAGE_WORKERS: "exclude, restore, approve, reject and write to workers",
    FUND: "cancel the campaign",
}
ANNOTATOR = "take its tasks, where the team works in-house"


@dataclass(frozen=True)
class Line:
    """One permission, and of each role in turn whether it has it."""

    words: str
    held: list[bool]


@require_http_methods(["GET", "HEAD", "POST"])
@campaign_page(GRANT)
def campaign_roles(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """A POST gives an account a role, or takes the one that it has."""
    if request.method != "POST":
        return _page(request, campaign, OperationForm(GIVE))
    operation = TAKE if "take" in request.POST else GIVE
    form = OperationForm(operation, request.POST)
    fault = ""
    if form.is_valid():
        try:
            by = by_page(cast(User, request.user))
            perform(operation, campaign, form.cleaned_data, by=by)
            return _done(request, campaign, form.cleaned_data)
        except UserError as error:
            fault = str(error)
    form = OperationForm(GIVE, request.POST)
    return _page(request, campaign, form, fault=fault, status=422)


def _done(request: HttpRequest, campaign: Campaign, options: Options) -> HttpResponse:
    username, role = options["username"], options.get("role")
    now = f"is {role} of" if role else "has no longer a role in"
    messages.success(request, f"{username} {now} {campaign}.")
    # Who has just given up their own part may have no way back to this page.
    if username == request.user.get_username() and not request.user.is_superuser:
        return redirect("dashboard")
    return redirect("campaign-roles", campaign.name)


def _page(
    request: HttpRequest,
    campaign: Campaign,
    form: OperationForm,
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
        "lines": _lines(WORDS_WITHOUT_MONEY if is_free(campaign.policy) else WORDS),
    }
    template = "annotation/campaigns/roles.html"
    return page(request, template, context, title="Roles", campaign=campaign, status=status)


def _lines(words_of: Mapping[str, str]) -> list[Line]:
    names = Role.Name.values
    lines = [
        Line(words, [may in PERMISSIONS[name] for name in names]) for may, words in words_of.items()
    ]
    return [*lines, Line(ANNOTATOR, [name == Role.Name.ANNOTATOR for name in names])]
